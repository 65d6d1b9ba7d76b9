// Parts of a step for each N: stacked bars of shares of the step.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "analysis/report/html/figures.hpp"
#include "analysis/report/html/table_reader.hpp"
#include "simulator/units/units.hpp"

namespace ddpprof::report::html {
namespace {

struct Part {
  const char* name;
  const char* classes;
};
constexpr std::array<Part, 5> parts = {{{"compute", "part-compute"},
                                        {"exposed communication", "part-exposed"},
                                        {"waiting for slower ranks", "part-waiting"},
                                        {"waiting for the host's launches", "part-host"},
                                        {"other (data, copies)", "part-other"}}};
constexpr std::size_t host_part = 3;

struct Bar {
  double workers = 1, step_s = 0;
  std::array<double, parts.size()> shares{};  // of the step, in the order of `parts`
  bool measured = false;
  std::string about;  // text that distinguishes bars with the same N
};

using Bars = std::map<std::string, std::vector<Bar>>;  // by strategy and grouping by hosts

void add_predicted(const Table& source, Bars& all) {
  const TableReader table(source);
  const auto hosts = [&](const Row& row) { return table.text(row, "gpus_per_node"); };
  const bool several =
      std::ranges::any_of(table.rows(), [&](const Row& row) { return hosts(row) != hosts(table.rows().front()); });
  for (const Row& row : table.rows()) {
    const auto workers = table.number(row, "workers"), step = table.number(row, "step_s");
    const auto compute = table.number(row, "compute_share"), exposed = table.number(row, "exposed_share");
    if (!workers || !step || !compute || !exposed || *step <= 0) continue;
    std::string name = table.text(row, "strategy");
    if (several) name += hosts(row) == "0" ? ", one host" : ", " + hosts(row) + " ranks per host";
    all[name].push_back({*workers,
                         *step,
                         {*compute, *exposed, table.number(row, "skew_share").value_or(0),
                          table.number(row, "host_share").value_or(0), table.number(row, "other_share").value_or(0)},
                         table.text(row, "note").starts_with("measured"),
                         ""});
  }
}

// Medians of the parts. Exposed communication includes waiting; the rest of the step is `other`.
void add_measured(const Report& report, const Table& time, Bars& all) {
  const Table* step = table_of(report, "step");
  if (step == nullptr) step = table_of(report, "overlap");
  if (step == nullptr || step->rows.size() != time.rows.size()) return;
  const TableReader steps(*step), table(time);
  for (std::size_t i = 0; i < time.rows.size(); ++i) {
    const Row& row = time.rows[i];
    const auto workers = table.number(row, "workers"), took = steps.number(step->rows[i], "step_median_s");
    const auto compute = table.number(row, "compute_s"), exposed = table.number(row, "exposed_s");
    if (!workers || !took || !compute || !exposed || *took <= 0) continue;
    const double waiting = std::min(*exposed, table.number(row, "exposed_wait_s").value_or(0));
    // The parts are those of steps with the profiler, which makes work longer, but not exposed communication.
    const double traced_host = table.number(row, "host_s").value_or(0), worked = *compute + traced_host;
    const double kept = worked > 0 ? std::clamp((*took - *exposed) / worked, 0.0, 1.0) : 1.0;
    const double own = kept * *compute, host = kept * traced_host;
    const std::string strategy = table.text(row, "strategy");
    std::vector<Bar>& bars = all[strategy];
    // Predictions at a measured N equal the measurement, unless they are for another machine.
    if (std::ranges::any_of(
            bars, [&](const Bar& bar) { return bar.about.empty() && bar.measured && bar.workers == *workers; }))
      continue;
    bars.push_back({*workers,
                    *took,
                    {own / *took, (*exposed - waiting) / *took, waiting / *took, host / *took,
                     std::max(0.0, (*took - own - *exposed - host) / *took)},
                    true,
                    fmt::format("{}, {} samples", table.text(row, "model"), table.text(row, "global_batch_samples"))});
  }
}

std::string tip(const Bar& bar, std::size_t part) {
  return fmt::format("N = {:.0f}{}, {}: {} %, {} of {}", bar.workers, bar.measured ? "" : " (predicted)",
                     parts[part].name, units::format_significant(100 * bar.shares[part], 3),
                     units::format_quantity(bar.shares[part] * bar.step_s, "s"),
                     units::format_quantity(bar.step_s, "s"));
}

std::string described(const std::vector<Bar>& bars) {
  // Only jobs on GPUs have this part.
  const bool any_host = std::ranges::any_of(bars, [](const Bar& bar) { return bar.shares[host_part] > 0; });
  std::string text;
  for (const Bar& bar : bars) {
    text += fmt::format("{}N = {:.0f}, {}, {} per step:", text.empty() ? "" : " ", bar.workers,
                        bar.measured ? "measured" : "predicted", units::format_quantity(bar.step_s, "s"));
    for (std::size_t i = 0; i < parts.size(); ++i)
      if (i != host_part || any_host)
        text += fmt::format("{} {} {} %", i == 0 ? "" : ",", parts[i].name,
                            units::format_significant(100 * bar.shares[i], 3));
    text += ".";
  }
  return text;
}

Figure figure(int number, const std::string& strategy, std::vector<Bar> bars) {
  std::stable_sort(bars.begin(), bars.end(), [](const Bar& a, const Bar& b) { return a.workers < b.workers; });
  Figure out;
  out.title = "Parts of a step: " + strategy;
  Drawing drawing(fmt::format("figure-parts-{}", number), out.title, described(bars), {.height = 290, .top = 30});
  std::vector<std::string> names;
  std::vector<double> totals;
  for (const Bar& bar : bars) {
    const bool twice = std::ranges::count_if(bars, [&](const Bar& b) { return b.workers == bar.workers; }) > 1;
    names.push_back(fmt::format("{:.0f}", bar.workers) + (twice ? " (" + bar.about + ")" : ""));
    double total = 0;
    for (const double share : bar.shares) total += share;
    totals.push_back(total);
  }
  Axis shares = Axis::share("share of the step", {});
  drawing.frame(names, "workers N", shares);
  std::array<bool, parts.size()> seen{};
  bool predicted = false;
  for (std::size_t i = 0; i < bars.size(); ++i) {
    const Bar& bar = bars[i];
    const auto x = static_cast<double>(i);
    // Medians of parts need not add up. If their sum exceeds the step, they are scaled to it.
    const double scale = totals[i] > 1.0 ? 1.0 / totals[i] : 1.0;
    double from = 0;
    // Pale parts are translucent, so the grid below them is covered with the paper's colour.
    if (!bar.measured) drawing.bar(x, 0, std::min(totals[i], 1.0), "blank", "");
    for (std::size_t part = 0; part < parts.size(); ++part) {
      const double to = from + bar.shares[part] * scale;
      drawing.bar(x, from, to, std::string(parts[part].classes) + (bar.measured ? "" : " pale"), tip(bar, part));
      seen[part] = seen[part] || bar.shares[part] > 0;
      from = to;
    }
    drawing.label({x, 1.0}, 0, -7, units::format_quantity(bar.step_s, "s"), bars.size() > 7 ? "small" : "");
    predicted = predicted || !bar.measured;
  }
  for (std::size_t part = 0; part < parts.size(); ++part)
    if (seen[part]) out.legend.push_back({LegendItem::Mark::block, parts[part].classes, parts[part].name});
  if (predicted) out.legend.push_back({LegendItem::Mark::pale_block, "part-compute pale", "paler: predicted"});
  out.caption = "Above each bar: the time of a step.";
  out.svg = drawing.svg();
  return out;
}

}  // namespace

std::vector<Figure> parts_figures(const Report& report) {
  Bars all;
  if (const Table* predictions = table_of(report, "predictions")) add_predicted(*predictions, all);
  if (const Table* time = table_of(report, "time")) add_measured(report, *time, all);
  std::vector<Figure> figures;
  int number = 0;
  for (auto& [strategy, bars] : all) figures.push_back(figure(number++, strategy, std::move(bars)));
  return figures;
}

}  // namespace ddpprof::report::html
