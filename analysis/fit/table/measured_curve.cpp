#include "analysis/fit/table/measured_curve.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <ranges>
#include <tuple>

#include "simulator/stats/summary.hpp"

namespace ddpprof::fit {
namespace {

// Beyond rounding, N devices do not have more than N times the throughput of one.
// Unit: ln(step) per doubling of N, as in most published tables.
constexpr double usual_growth = 0.02;

// Weighted by 1 / time², so relative errors are minimised. Neither part is negative.
std::pair<double, double> line_through(const std::vector<std::pair<double, double>>& points) {
  double ff = 0.0, fs = 0.0, ss = 0.0, f = 0.0, s = 0.0;
  for (const auto& [batch, time_s] : points) {
    const double one = 1.0 / time_s, per = batch / time_s;
    ff += one * one, fs += one * per, ss += per * per, f += one, s += per;
  }
  const double determinant = ff * ss - fs * fs;
  const double fixed_s = determinant > 0.0 ? (f * ss - s * fs) / determinant : 0.0;
  const double sample_s = determinant > 0.0 ? (s * ff - f * fs) / determinant : s / ss;
  if (fixed_s < 0.0) return {0.0, s / ss};
  if (sample_s < 0.0) return {f / ff, 0.0};
  return {fixed_s, sample_s};
}

}  // namespace

double log2_ratio(std::int64_t to, std::int64_t from) {
  return std::log2(static_cast<double>(to) / static_cast<double>(from));
}

MeasuredCurves::MeasuredCurves(const std::vector<StepRow>& rows, std::shared_ptr<const Alone> alone)
    : alone_(std::move(alone)) {
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t>, std::vector<StepRow>>
      equal;
  std::set<std::int64_t> batches;
  for (const StepRow& row : rows) {
    equal[{row.workers, row.nodes, row.devices(), row.batch_per_worker, row.accumulation}].push_back(row);
    accumulations_.insert(row.accumulation);
    batches.insert(row.batch_per_worker);
    if (row.nodes > 1) devices_of_nodes_.insert(row.devices());
  }
  batches_ = {*batches.begin(), *batches.rbegin()};
  std::vector<std::vector<double>> repeats;
  for (const auto& [key, same] : equal) {
    Point point{same.front(), 0.0, -1.0};
    std::vector<double> times, shares;
    for (const StepRow& row : same) {
      times.push_back(row.micro_s());
      if (row.sync_s >= 0.0) shares.push_back(row.sync_s / row.step_s);
    }
    point.micro_s = stats::median(times);
    std::tie(point.least_s, point.most_s) = std::pair(std::ranges::min(times), std::ranges::max(times));
    if (!shares.empty()) point.sync_share = stats::median(shares);
    points_.push_back(point);
    repeats.push_back(std::move(times));
  }
  const double each = static_cast<double>(rows.size()) / static_cast<double>(points_.size());
  scatter_ = std::sqrt(1.0 + 1.0 / each) * std::max(widened(noise_of_repeats(repeats)), widened(noise_of_points()));
  const double most_scatter = std::log(most_noise_ratio) / normal_90;
  contradict_ = scatter_ > most_scatter;
  scatter_ = std::min(scatter_, most_scatter);
  if (batches.size() > 1) fit_line();
}

// Two nodes are a special case of collective libraries.
RowNoise MeasuredCurves::noise_of_points() const {
  using Key = std::tuple<bool, std::int64_t, std::int64_t, std::int64_t>;
  std::map<Key, std::map<std::int64_t, double>> series, two_nodes;
  for (const Point& point : points_) {
    const StepRow& row = point.row;
    const Key key{row.nodes > 1, row.nodes > 1 ? row.devices() : 0, row.batch_per_worker, row.accumulation};
    (row.nodes == 2 ? two_nodes : series)[key][row.workers] = point.micro_s;
  }
  std::vector<StepsAcrossTwoNodes> across;
  for (const auto& [key, steps] : two_nodes) {
    const auto [several, devices, batch, accumulation] = key;
    const auto more = series.find(key), one = series.find({false, 0, batch, accumulation});
    const auto full = steps.find(2 * devices);
    if (more == series.end() || full == steps.end()) continue;
    StepsAcrossTwoNodes found{0.0, full->second, more->second.begin()->second};
    if (one != series.end())
      if (const auto after = one->second.upper_bound(devices); after != one->second.begin())
        found.one_node_s = std::prev(after)->second;
    across.push_back(found);
  }
  std::vector<std::map<std::int64_t, double>> curves;
  for (auto& [key, steps] : series) curves.push_back(std::move(steps));
  // Slow links between nodes make the step of two nodes so much longer that it shows no noise.
  const RowNoise apart = noise_of_curves(curves), all = noise_of_curves(curves, across);
  return widened(all) > widened(apart) ? all : apart;
}

// With rows of one rank at one batch only, rows of more ranks determine the slope, brought to the largest N.
void MeasuredCurves::fit_line() {
  const std::int64_t largest =
      std::ranges::max(points_, {}, [](const Point& point) { return point.row.workers; }).row.workers;
  std::vector<std::pair<double, double>> points;
  for (const Point& point : points_)
    points.emplace_back(static_cast<double>(point.row.batch_per_worker),
                        point.micro_s * std::exp(usual_growth * log2_ratio(largest, point.row.workers)));
  std::tie(fixed_s_, sample_s_) = line_through(points);
  line_ = true;
}

double MeasuredCurves::compute_s(std::int64_t batch) const {
  if (alone_->batches() >= 2 || (alone_->batches() == 1 && !line_)) return alone_->compute_s(batch);
  if (!line_) return std::numeric_limits<double>::quiet_NaN();
  return fixed_s_ + sample_s_ * static_cast<double>(batch);
}

// The part that is not compute stays. But a smaller batch hides less communication behind its backward, and a larger
// one more: how much was hidden is not known, so the other end is what the whole difference of the backward would make.
void MeasuredCurves::convert_batch(MeasuredStep& step, const StepRow& from, const StepRow& asked) const {
  if (from.batch_per_worker == asked.batch_per_worker) return;
  const double from_s = compute_s(from.batch_per_worker), to_s = compute_s(asked.batch_per_worker);
  const double exposed_s = std::max(0.0, step.micro_s - from_s), behind_s = backward_share * (to_s - from_s);
  step.other_batch = true;
  step.by_line = alone_->batches() < 2;
  if (step.by_line && from.workers > 1) {
    const double measured_s = std::min(from_s, step.micro_s);
    step.measured_backward_s = backward_share * measured_s;
    step.backward_s = backward_share * std::max(0.0, measured_s + to_s - from_s);
  }
  // A line through noise may leave less than compute; then the step scales with compute.
  step.micro_s = std::max(step.micro_s + to_s - from_s, std::min(to_s, step.micro_s * to_s / from_s));
  step.low_s = step.high_s = step.micro_s;
  if (from.workers == 1 || step.by_line) return;  // the interval of the line contains it
  step.low_s = std::min(step.micro_s, to_s + std::max(0.0, exposed_s - std::max(0.0, behind_s)));
  step.high_s = std::max(step.micro_s, to_s + exposed_s + std::max(0.0, -behind_s));
}

// Time of a micro-batch's compute, at least: with more micro-batches, no more ranks lose no more of a step. 0 without
// such rows.
double MeasuredCurves::least_compute_s(const StepRow& from) const {
  const auto whole_s = [](const Point& point) { return point.micro_s * static_cast<double>(point.row.accumulation); };
  const Point *own = nullptr, *most = nullptr;
  for (const Point& point : points_) {
    const StepRow& row = point.row;
    if (row.batch_per_worker != from.batch_per_worker || row.workers > from.workers) continue;
    if (row.workers == from.workers && row.nodes == from.nodes && row.devices() == from.devices() &&
        row.accumulation == from.accumulation)
      own = &point;
    if (most == nullptr || row.accumulation > most->row.accumulation) most = &point;
  }
  if (own == nullptr || most->row.accumulation <= from.accumulation) return 0.0;
  const double further = static_cast<double>(most->row.accumulation - from.accumulation);
  return std::clamp((whole_s(*most) - whole_s(*own)) / further, 0.0, own->micro_s);
}

void MeasuredCurves::convert_accumulation(MeasuredStep& step, const StepRow& from, const StepRow& asked) const {
  if (from.accumulation == asked.accumulation || from.workers == 1) return;
  step.other_accumulation = true;
  double alone_s = compute_s(asked.batch_per_worker);
  // At least compute that is proportional to the batch, and at most the step of the fewest ranks.
  const double least_s = line_ ? sample_s_ * static_cast<double>(asked.batch_per_worker) : least_compute_s(from);
  if (alone_->empty()) {
    for (const Point& point : points_)
      if (point.row.batch_per_worker == asked.batch_per_worker && !(alone_s < point.micro_s)) alone_s = point.micro_s;
  }
  const double exposed_s = std::max(0.0, step.micro_s - alone_s);
  const double most_exposed_s = alone_->empty() ? std::max(exposed_s, step.micro_s - least_s) : exposed_s;
  const double rounds = static_cast<double>(from.accumulation) / static_cast<double>(asked.accumulation);
  const double before_s = step.micro_s;
  // Tables whose accumulation falls as N grows show less than one exposed communication a step: the square root of it.
  step.micro_s = before_s + exposed_s * ((one_accumulation() ? rounds : std::sqrt(rounds)) - 1.0);
  step.low_s *= step.micro_s / before_s;
  step.high_s *= step.micro_s / before_s;
  // Equal in each micro-batch, or once a step: the table does not show which.
  const auto [low_s, high_s] = std::minmax({before_s, step.micro_s, before_s + most_exposed_s * (rounds - 1.0)});
  step.low_s = std::min(step.low_s, low_s);
  step.high_s = std::max(step.high_s, high_s);
}

// Between two measured batches the step is a line in the batch.
MeasuredStep MeasuredCurves::step_of(const std::vector<const Point*>& same_placement, const StepRow& asked) const {
  const auto batch_of = [](const Point* point) { return point->row.batch_per_worker; };
  const Point *below = nullptr, *above = nullptr;
  const auto nearer = [&](const Point* one, const Point* other) {
    const auto distance = [&](const Point* point) {
      return std::pair(std::abs(log2_ratio(batch_of(point), asked.batch_per_worker)),
                       std::abs(log2_ratio(point->row.accumulation, asked.accumulation)));
    };
    return other == nullptr || distance(one) < distance(other);
  };
  for (const Point* point : same_placement) {
    if (batch_of(point) <= asked.batch_per_worker && nearer(point, below)) below = point;
    if (batch_of(point) >= asked.batch_per_worker && nearer(point, above)) above = point;
  }
  const auto converted = [&](const Point* point) {
    MeasuredStep step;
    step.micro_s = step.low_s = step.high_s = point->micro_s;
    if (contradict_) std::tie(step.low_s, step.high_s) = std::pair(point->least_s, point->most_s);
    step.sync_share = point->sync_share;
    step.nodes = point->row.nodes;
    step.devices = point->row.devices();
    step.own_step_s = point->micro_s * static_cast<double>(point->row.accumulation);
    step.proportional_s =
        point->micro_s * static_cast<double>(asked.batch_per_worker) / static_cast<double>(batch_of(point));
    if (below == nullptr || above == nullptr) convert_batch(step, point->row, asked);
    convert_accumulation(step, point->row, asked);
    return step;
  };
  if (below == nullptr || above == nullptr || batch_of(below) == batch_of(above))
    return converted(below != nullptr ? below : above);
  MeasuredStep step = converted(below);
  const MeasuredStep larger = converted(above);
  const double share = static_cast<double>(asked.batch_per_worker - batch_of(below)) /
                       static_cast<double>(batch_of(above) - batch_of(below));
  const auto between = [share](double from, double to) { return from + share * (to - from); };
  step.micro_s = between(step.micro_s, larger.micro_s);
  step.low_s = between(step.low_s, larger.low_s);
  step.high_s = between(step.high_s, larger.high_s);
  return step;
}

MeasuredCurve MeasuredCurves::curve(const StepRow& asked, bool several_nodes) const {
  using Distance = std::pair<bool, std::int64_t>;
  std::map<std::int64_t, std::pair<Distance, std::vector<const Point*>>> nearest;
  for (const Point& point : points_) {
    if ((point.row.nodes > 1) != several_nodes) continue;
    const bool special = asked.nodes > 1 && (point.row.nodes == 2) != (asked.nodes == 2);
    const Distance distance(special, point.row.workers == 1 ? 0 : std::abs(point.row.devices() - asked.devices()));
    auto& [best, points] = nearest.try_emplace(point.row.workers, distance, std::vector<const Point*>{}).first->second;
    if (distance < best) {
      best = distance;
      points.clear();
    }
    if (distance == best) points.push_back(&point);
  }
  MeasuredCurve curve;
  for (const auto& [workers, chosen] : nearest) curve[workers] = step_of(chosen.second, asked);
  if (several_nodes) return curve;
  // On one node, fewer ranks do not take longer. The line through rows of other N may say so.
  const MeasuredStep* more = nullptr;
  for (auto& [workers, step] : std::views::reverse(curve)) {
    if (more != nullptr && step.by_line && !more->by_line && step.micro_s > more->micro_s) {
      step.micro_s = more->micro_s;
      step.low_s = std::min(step.low_s, step.micro_s);
    }
    more = &step;
  }
  return curve;
}

}  // namespace ddpprof::fit
