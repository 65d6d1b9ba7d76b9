// Collectives over their size, log-log: measured, and measured with fitted.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "analysis/report/html/figures.hpp"
#include "analysis/report/html/table_reader.hpp"
#include "simulator/units/units.hpp"

namespace ddpprof::report::html {
namespace {

struct Sized {
  double bytes = 0, measured_s = 0, low_s = 0, high_s = 0, fitted_s = 0;  // fitted_s 0: no fit
};
struct Curve {
  double workers = 1;
  std::vector<Sized> points;  // by size
};

std::string described(const std::vector<Curve>& curves) {
  std::string text;
  for (const Curve& curve : curves) {
    const Sized &first = curve.points.front(), &last = curve.points.back();
    text += fmt::format(
        "{}N = {:.0f}: {} for {}, {} for {}.", text.empty() ? "" : " ", curve.workers,
        units::format_quantity(first.measured_s, "s"), units::format_bytes(static_cast<std::int64_t>(first.bytes)),
        units::format_quantity(last.measured_s, "s"), units::format_bytes(static_cast<std::int64_t>(last.bytes)));
  }
  return text;
}

Figure figure(const std::string& id, const std::string& title, std::vector<Curve> curves) {
  std::vector<double> sizes, times;
  for (Curve& curve : curves) {
    std::stable_sort(curve.points.begin(), curve.points.end(),
                     [](const Sized& a, const Sized& b) { return a.bytes < b.bytes; });
    for (const Sized& p : curve.points) {
      sizes.push_back(p.bytes);
      times.insert(times.end(), {p.measured_s, p.low_s, p.high_s, p.fitted_s});
    }
  }
  Figure out;
  out.title = title;
  Drawing drawing(id, title, described(curves), {.right = 74});
  drawing.frame(Axis::bytes(sizes), Axis::logarithmic("time", "s", times));
  std::vector<Drawing::EndLabel> ends;
  int index = 0;
  for (const Curve& curve : curves) {
    const std::string classes = fmt::format("c{}", index++ % series_colours);
    std::vector<Point> measured, fitted;
    for (const Sized& p : curve.points) {
      measured.push_back({p.bytes, p.measured_s});
      if (p.fitted_s > 0) fitted.push_back({p.bytes, p.fitted_s});
    }
    drawing.line(fitted.empty() ? measured : fitted, classes);
    for (const Sized& p : curve.points) {
      if (p.low_s < p.high_s) drawing.whisker(p.bytes, p.low_s, p.high_s, classes);
      drawing.dot(
          {p.bytes, p.measured_s}, "dot " + classes,
          fmt::format("N = {:.0f}, {}: {}{}", curve.workers, units::format_bytes(static_cast<std::int64_t>(p.bytes)),
                      units::format_quantity(p.measured_s, "s"),
                      p.fitted_s > 0 ? ", fitted " + units::format_quantity(p.fitted_s, "s") : ""));
    }
    const std::string name = fmt::format("N = {:.0f}", curve.workers);
    ends.push_back({measured.back(), name, classes});
    out.legend.push_back({LegendItem::Mark::measured, classes, name + ", measured"});
    if (!fitted.empty()) out.legend.push_back({LegendItem::Mark::fitted, classes, name + ", fitted"});
  }
  drawing.end_labels(std::move(ends));
  out.svg = drawing.svg();
  return out;
}

// One figure per key of `groups` with two or more points.
std::vector<Figure> figures(const std::string& id, const std::string& title,
                            std::map<std::string, std::map<double, std::vector<Sized>>> groups) {
  std::vector<Figure> all;
  for (auto& [about, by_workers] : groups) {
    std::vector<Curve> curves;
    std::size_t points = 0;
    for (auto& [workers, sized] : by_workers) {
      points += sized.size();
      curves.push_back({workers, std::move(sized)});
    }
    if (points > 1) all.push_back(figure(fmt::format("{}-{}", id, all.size()), title + about, std::move(curves)));
  }
  return all;
}

}  // namespace

std::vector<Figure> collective_figures(const Table& comm) {
  const TableReader table(comm);
  std::map<std::string, std::map<double, std::vector<Sized>>> groups;
  for (const Row& row : table.rows()) {
    const auto workers = table.number(row, "workers"), bytes = table.number(row, "bytes"),
               time = table.number(row, "time_median_s");
    if (!workers || !bytes || !time || *bytes <= 0 || *time <= 0) continue;
    groups[fmt::format("{} over {}, {}", table.text(row, "op"), table.text(row, "backend"), table.text(row, "device"))]
          [*workers]
              .push_back({*bytes, *time, table.number(row, "time_low_s").value_or(*time),
                          table.number(row, "time_high_s").value_or(*time), 0});
  }
  return figures("figure-comm", "Time over size: ", std::move(groups));
}

std::vector<Figure> fitted_figures(const Table& residuals) {
  const TableReader table(residuals);
  std::map<std::string, std::map<double, std::vector<Sized>>> groups;
  for (const Row& row : table.rows()) {
    const auto workers = table.number(row, "workers"), bytes = table.number(row, "bytes"),
               measured = table.number(row, "measured_s"), fitted = table.number(row, "fitted_s");
    if (!workers || !bytes || !measured || !fitted || *bytes <= 0 || *measured <= 0 || *fitted <= 0) continue;
    groups[table.text(row, "fit") + ", " + table.text(row, "strategy")][*workers].push_back(
        {*bytes, *measured, *measured, *measured, *fitted});
  }
  return figures("figure-fit", "Measured and fitted: ", std::move(groups));
}

}  // namespace ddpprof::report::html
