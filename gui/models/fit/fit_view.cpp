#include "gui/models/fit/fit_view.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace ddpprof::gui {
namespace {

constexpr int curve_points = 64;

// Returns whole numbers of bytes at equal ratios, from half of the smallest size to twice the largest.
std::vector<double> sizes_around(double smallest, double largest) {
  const double low = std::max(1.0, 0.5 * smallest), high = 2.0 * largest;
  std::vector<double> sizes;
  for (int i = 0; i < curve_points; ++i) {
    const double size = std::round(low * std::pow(high / low, static_cast<double>(i) / (curve_points - 1)));
    if (sizes.empty() || size > sizes.back()) sizes.push_back(size);
  }
  return sizes;
}

void view_all_reduce(const fit::AllReduceFit& all, FitView& view) {
  view.usable = all.usable;
  view.status = all.status;
  view.warnings = all.warnings;
  view.notes = all.notes;
  view.x_title = "message [bytes]";
  view.curve_meaning =
      "Lines: modelled time of one all-reduce alone on the link. Crosses: modelled time of each measured point, where "
      "several all-reduces and compute can run at the same time.";
  if (all.forms.empty()) return;
  const fit::FormFit& picked = all.picked();
  view.form = picked.form.name();
  struct Group {
    std::vector<std::size_t> points;
    double smallest = 0, largest = 0;
  };
  std::map<std::tuple<std::int64_t, bool>, Group> groups;  // N, then steps before bench-comm
  for (std::size_t i = 0; i < all.points.size(); ++i) {
    const fit::CollectivePoint& point = all.points[i];
    Group& group = groups[{point.machine.workers, point.bench}];
    const auto bytes = static_cast<double>(point.bytes);
    group.smallest = group.points.empty() ? bytes : std::min(group.smallest, bytes);
    group.largest = std::max(group.largest, bytes);
    group.points.push_back(i);
  }
  for (const auto& [key, group] : groups) {
    const auto [workers, bench] = key;
    FitSeries series;
    series.workers = workers;
    series.name = "N = " + std::to_string(workers) + (bench ? ", bench-comm" : ", steps");
    for (const std::size_t i : group.points) {
      const fit::CollectivePoint& point = all.points[i];
      series.points.push_back({static_cast<double>(point.bytes), point.transfer_s, point.noise * point.transfer_s,
                               picked.solution.fitted[i]});
    }
    std::sort(series.points.begin(), series.points.end(),
              [](const FitPoint& a, const FitPoint& b) { return a.x < b.x; });
    const fit::Machine& machine = all.points[group.points.front()].machine;
    series.curve_x = sizes_around(group.smallest, group.largest);
    for (const double bytes : series.curve_x) {
      series.curve_s.push_back(
          picked.alone(machine, static_cast<std::int64_t>(bytes), picked.solution.values, bench).total_s());
    }
    view.series.push_back(std::move(series));
  }
}

void view_compute(const fit::ComputeFit& compute, const std::map<std::int64_t, fit::StepProfile>& profiles,
                  std::int64_t gpus_per_node, FitView& view) {
  view.usable = compute.usable;
  view.status = compute.status;
  view.notes = compute.notes;
  view.form = fit::to_row(compute).form;
  view.x_title = "N [workers]";
  view.curve_meaning =
      "Line: the curve that predictions use; it passes through every measured N. Crosses: the fitted law before this "
      "adjustment.";
  if (compute.measured_at.empty()) return;
  FitSeries series;
  series.name = compute.strategy + " compute of one rank";
  for (std::size_t i = 0; i < compute.measured_at.size(); ++i) {
    const double measured_s = compute.problem.measured[i];
    const auto profile = profiles.find(compute.measured_at[i]);
    const double noise = profile == profiles.end() ? 0.0 : profile->second.compute_noise;
    series.points.push_back(
        {static_cast<double>(compute.measured_at[i]), measured_s, noise * measured_s, compute.solution.fitted[i]});
  }
  series.workers = compute.measured_at.back();
  if (compute.usable) {
    const std::int64_t last = std::max<std::int64_t>(8, 4 * series.workers);
    for (std::int64_t workers = 1; workers <= last; workers += workers < 64 ? 1 : workers / 32) {
      series.curve_x.push_back(static_cast<double>(workers));
      series.curve_s.push_back(compute.compute_s(compute.machine_for(workers, gpus_per_node), compute.solution.values));
    }
  }
  view.series.push_back(std::move(series));
}

void view_copies(const fit::CopyFit& copies, FitView& view) {
  view.usable = copies.usable;
  view.status = copies.status;
  view.form = fit::to_row(copies).form;
  view.x_title = "copied, all replicas together [bytes]";
  view.curve_meaning = "Lines: modelled duration of the phase. Crosses: modelled duration at the measured sizes.";
  std::map<std::pair<std::string, std::int64_t>, std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < copies.points.size(); ++i)
    groups[{copies.points[i].phase, copies.points[i].workers}].push_back(i);
  for (const auto& [key, points] : groups) {
    FitSeries series;
    series.workers = key.second;
    series.name = key.first + ", N = " + std::to_string(key.second);
    double smallest = copies.points[points.front()].bytes, largest = smallest;
    for (const std::size_t i : points) {
      const fit::CopyPoint& point = copies.points[i];
      smallest = std::min(smallest, point.bytes);
      largest = std::max(largest, point.bytes);
      series.points.push_back(
          {point.bytes, point.duration_s, point.noise * point.duration_s, copies.solution.fitted[i]});
    }
    series.curve_x = sizes_around(smallest, largest);
    for (const double bytes : series.curve_x)
      series.curve_s.push_back(fit::CopyFit::copy_s(key.first, key.second, bytes, copies.solution.values));
    view.series.push_back(std::move(series));
  }
}

}  // namespace

const char* to_string(FitKind kind) {
  switch (kind) {
    case FitKind::all_reduce:
      return "All-reduce (ddp)";
    case FitKind::ddp_compute:
      return "Compute (ddp)";
    case FitKind::dp_compute:
      return "Compute (dp)";
    case FitKind::copies:
      return "Copies (dp)";
  }
  return "?";
}

const char* fit_name(FitKind kind) {
  if (kind == FitKind::all_reduce) return "all_reduce";
  return kind == FitKind::copies ? "data_parallel" : "compute";
}

const char* fit_strategy(FitKind kind) { return kind == FitKind::dp_compute || kind == FitKind::copies ? "dp" : "ddp"; }

std::vector<FitKind> fits_of(const fit::Models& models) {
  std::vector<FitKind> kinds;
  const bool ddp = !models.measured.ddp.empty();
  if (ddp || !models.measured.collectives.empty()) kinds.push_back(FitKind::all_reduce);
  if (ddp) kinds.push_back(FitKind::ddp_compute);
  if (!models.measured.dp.empty()) {
    kinds.push_back(FitKind::dp_compute);
    kinds.push_back(FitKind::copies);
  }
  return kinds;
}

FitView view_fit(const fit::Models& models, FitKind kind, std::int64_t gpus_per_node) {
  FitView view;
  view.kind = kind;
  switch (kind) {
    case FitKind::all_reduce:
      view_all_reduce(models.all_reduce, view);
      break;
    case FitKind::ddp_compute:
      view_compute(models.ddp_compute, models.measured.ddp, gpus_per_node, view);
      break;
    case FitKind::dp_compute:
      view_compute(models.dp_compute, models.measured.dp, gpus_per_node, view);
      break;
    case FitKind::copies:
      view_copies(models.copies, view);
      break;
  }
  return view;
}

}  // namespace ddpprof::gui
