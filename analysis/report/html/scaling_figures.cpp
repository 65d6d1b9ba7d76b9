// Step time and efficiency over N: measured points, predicted curves with their intervals, knees.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <set>

#include "analysis/report/html/figures.hpp"
#include "analysis/report/html/table_reader.hpp"
#include "simulator/units/units.hpp"

namespace ddpprof::report::html {
namespace {

constexpr std::size_t longest_end_label = 9;  // characters that fit to the right of the plot

struct Value {
  double workers = 1, value = 0, low = 0, high = 0;
  bool measured = false;
};

// Values over N of one strategy, batch and grouping by host.
struct Series {
  std::string name, classes;
  bool measured = false;
  std::vector<Value> values;
};

struct Knee {
  std::string strategy;
  double workers = 0, threshold = 0;
  std::string source;
};

struct Column {
  const char* value;
  const char* low;
  const char* high;
};

// All series of a strategy have the same colour.
std::string colour(std::vector<std::string>& known, const std::string& strategy) {
  const auto found = std::find(known.begin(), known.end(), strategy);
  const auto index = static_cast<int>(found - known.begin());
  if (found == known.end()) known.push_back(strategy);
  return fmt::format("c{}", index % series_colours);
}

std::optional<Value> value_of(const TableReader& table, const Row& row, const Column& column) {
  const auto workers = table.number(row, "workers"), value = table.number(row, column.value);
  if (!workers || !value || *workers < 1 || *value <= 0) return std::nullopt;
  // Predictions at a measured N equal the measurement; their note begins with “measured”.
  return Value{*workers, *value, table.number(row, column.low).value_or(*value),
               table.number(row, column.high).value_or(*value), table.text(row, "note").starts_with("measured")};
}

// Measured values grouped by model, strategy and samples per worker, which are constant along a curve of weak scaling.
std::vector<Series> measured_series(const Table& source, const Column& column, std::vector<std::string>& strategies) {
  const TableReader table(source);
  struct Key {
    std::string strategy, model;
    double batch = 0;
    auto operator<=>(const Key&) const = default;
  };
  std::map<Key, std::vector<Value>> groups;
  for (const Row& row : table.rows()) {
    const auto value = value_of(table, row, column);
    if (!value) continue;
    const double batch = table.number(row, "global_batch_samples").value_or(0) / value->workers;
    groups[{table.text(row, "strategy"), table.text(row, "model"), batch}].push_back(*value);
  }
  std::map<std::string, int> batches;
  std::set<std::string> models;
  for (const auto& [key, values] : groups) {
    ++batches[key.strategy];
    models.insert(key.model);
  }
  std::vector<Series> all;
  for (auto& [key, values] : groups) {
    Series series{key.strategy, colour(strategies, key.strategy), true, std::move(values)};
    if (models.size() > 1) series.name += ", " + key.model;
    if (batches[key.strategy] > 1) series.name += fmt::format(", {:.6g} samples per worker", key.batch);
    std::stable_sort(series.values.begin(), series.values.end(),
                     [](const Value& a, const Value& b) { return a.workers < b.workers; });
    all.push_back(std::move(series));
  }
  return all;
}

std::vector<Series> predicted_series(const Table& source, const Column& column, std::vector<std::string>& strategies) {
  const TableReader table(source);
  std::map<std::pair<std::string, std::string>, std::vector<Value>> groups;
  std::set<std::string> hosts;
  for (const Row& row : table.rows()) {
    const auto value = value_of(table, row, column);
    if (!value) continue;
    groups[{table.text(row, "strategy"), table.text(row, "gpus_per_node")}].push_back(*value);
    hosts.insert(table.text(row, "gpus_per_node"));
  }
  std::vector<Series> all;
  for (auto& [key, values] : groups) {
    Series series{key.first, colour(strategies, key.first), false, std::move(values)};
    if (hosts.size() > 1) series.name += key.second == "0" ? ", one host" : ", " + key.second + " ranks per host";
    std::stable_sort(series.values.begin(), series.values.end(),
                     [](const Value& a, const Value& b) { return a.workers < b.workers; });
    all.push_back(std::move(series));
  }
  return all;
}

// For each strategy the knee with the largest share that has one. Knees with a change belong to other curves and are
// skipped.
std::vector<Knee> knees_of(const Report& report) {
  std::vector<Knee> all;
  const Table* source = table_of(report, "knee");
  if (source == nullptr) return all;
  const TableReader table(*source);
  for (const Row& row : table.rows()) {
    const auto workers = table.number(row, "knee_workers"), threshold = table.number(row, "threshold");
    if (!workers || !threshold || !table.text(row, "what_if").empty()) continue;
    const std::string strategy = table.text(row, "strategy");
    auto found = std::find_if(all.begin(), all.end(), [&](const Knee& k) { return k.strategy == strategy; });
    if (found == all.end()) found = all.insert(all.end(), Knee{strategy, 0, 0, ""});
    if (*threshold > found->threshold) *found = {strategy, *workers, *threshold, table.text(row, "source")};
  }
  return all;
}

struct Kind {
  std::string id, title, axis, unit;  // "": a share
};

std::string shown(const Kind& kind, double value) {
  return kind.unit.empty() ? units::format_significant(100.0 * value, 3) + " %"
                           : units::format_quantity(value, kind.unit);
}

std::string described(const Kind& kind, const std::vector<Series>& all, const std::vector<Knee>& knees) {
  std::string text;
  for (const Series& series : all) {
    text += fmt::format("{}{}, {}: ", text.empty() ? "" : " ", series.name, series.measured ? "measured" : "predicted");
    for (std::size_t i = 0; i < series.values.size(); ++i)
      text += fmt::format("{}N = {:.0f} {}", i == 0 ? "" : ", ", series.values[i].workers,
                          shown(kind, series.values[i].value));
    text += ".";
  }
  for (const Knee& knee : knees)
    text += fmt::format(" {}: more than {:.3g} % exposed from N = {:.0f} on.", knee.strategy, 100 * knee.threshold,
                        knee.workers);
  return text;
}

std::string tip(const Kind& kind, const Series& series, const Value& v) {
  std::string text = fmt::format("{}, N = {:.0f}: {}", series.name, v.workers, shown(kind, v.value));
  if (v.low < v.high) text += fmt::format(" ({} to {})", shown(kind, v.low), shown(kind, v.high));
  return text;
}

enum class Own { draw, leave };  // whether to draw measured values in a predicted series

// `joined`: connect the points with a line if no predicted line passes through them.
void draw(Drawing& drawing, const Kind& kind, const Series& series, bool joined, Own own) {
  std::vector<Point> middle, low, high;
  for (const Value& v : series.values) {
    middle.push_back({v.workers, v.value});
    low.push_back({v.workers, v.low});
    high.push_back({v.workers, v.high});
  }
  const bool interval = std::ranges::any_of(series.values, [](const Value& v) { return v.low < v.high; });
  if (!series.measured && interval) drawing.band(low, high, series.classes);
  if (joined) drawing.line(middle, series.classes + (series.measured ? "" : " dashed"));
  for (const Value& v : series.values) {
    const bool measured = series.measured || v.measured;
    if (measured && !series.measured && own == Own::leave) continue;
    if (measured && v.low < v.high) drawing.whisker(v.workers, v.low, v.high, series.classes);
    drawing.dot({v.workers, v.value}, (measured ? "dot " : "open ") + series.classes, tip(kind, series, v));
  }
}

std::optional<Figure> figure(const Kind& kind, const std::vector<Series>& measured,
                             const std::vector<Series>& predicted, const std::vector<Knee>& knees,
                             std::vector<std::string>& strategies) {
  std::vector<double> workers, values;
  std::vector<Series> all = predicted;
  all.insert(all.end(), measured.begin(), measured.end());
  for (const Series& series : all)
    for (const Value& v : series.values) {
      workers.push_back(v.workers);
      values.insert(values.end(), {v.value, v.low, v.high});
    }
  std::set<double> different(workers.begin(), workers.end());
  if (different.size() < 2) return std::nullopt;  // a single point is not a curve
  std::vector<Knee> marked;
  for (const Knee& knee : knees)
    if (std::find(strategies.begin(), strategies.end(), knee.strategy) != strategies.end() &&
        knee.workers <= *different.rbegin() && knee.workers >= *different.begin())
      marked.push_back(knee);
  std::ranges::stable_sort(marked, {}, &Knee::workers);

  Drawing::Size size;
  size.right = 74;
  size.top += Drawing::line_height * static_cast<double>(marked.size());
  size.height += Drawing::line_height * static_cast<double>(marked.size());
  Drawing drawing(kind.id, kind.title, described(kind, all, marked), size);
  drawing.frame(Axis::workers(workers),
                kind.unit.empty() ? Axis::share(kind.axis, values) : Axis::quantity(kind.axis, kind.unit, values));
  Figure out;
  out.title = kind.title;
  int row = 0;
  for (const Knee& knee : marked)
    drawing.marker(knee.workers, row++,
                   fmt::format("{}: > {:.3g} % exposed from N = {:.0f} ({})", knee.strategy, 100 * knee.threshold,
                               knee.workers, knee.source),
                   colour(strategies, knee.strategy));
  std::vector<Drawing::EndLabel> ends;
  const auto end_of = [&](const Series& series) {
    // Longer names (several batches or models) are only in the legend.
    const Value& last = series.values.back();
    if (series.name.size() <= longest_end_label)
      ends.push_back({{last.workers, last.value}, series.name, series.classes});
  };
  const auto of_colour = [](const std::vector<Series>& some, const std::string& classes) {
    return std::ranges::any_of(some, [&](const Series& other) { return other.classes == classes; });
  };
  for (const Series& series : predicted) {
    const bool also_measured = of_colour(measured, series.classes);
    draw(drawing, kind, series, true, also_measured ? Own::leave : Own::draw);
    end_of(series);
    out.legend.push_back({LegendItem::Mark::predicted, series.classes, series.name + ", predicted"});
    if (!also_measured && std::ranges::any_of(series.values, &Value::measured))
      out.legend.push_back({LegendItem::Mark::measured, series.classes, series.name + ", measured"});
  }
  for (const Series& series : measured) {
    const bool alone = !of_colour(predicted, series.classes);
    draw(drawing, kind, series, alone, Own::draw);
    if (alone) end_of(series);
    out.legend.push_back({LegendItem::Mark::measured, series.classes, series.name + ", measured"});
  }
  drawing.end_labels(std::move(ends));
  out.caption = "Bars and bands: the interval from low to high, as in the tables.";
  if (kind.unit.empty()) out.caption.clear();
  out.svg = drawing.svg();
  return out;
}

// Returns the name of the predictions' efficiency: weak, or strong if they keep the global batch.
std::string efficiency_name(const Table* predictions) {
  if (predictions != nullptr)
    for (const report::Column& column : predictions->columns)
      if (column.name == "efficiency") return column.title;
  return "weak efficiency";
}

}  // namespace

std::vector<Figure> scaling_figures(const Report& report) {
  const Table* step = table_of(report, "step");
  const Table* weak = step != nullptr ? step : table_of(report, "weak_scaling");
  const Table* predictions = table_of(report, "predictions");
  const std::vector<Knee> knees = knees_of(report);
  const std::string efficiency = efficiency_name(predictions);
  std::string title = efficiency;
  title.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(title.front())));
  struct Wanted {
    Kind kind;
    const Table* measured;
    Column measured_column, predicted_column;
  };
  const Wanted wanted[] = {
      {{"figure-step-time", "Step time over N", "time of a step", "s"},
       step,
       {"step_median_s", "step_low_s", "step_high_s"},
       {"step_s", "step_low_s", "step_high_s"}},
      {{"figure-efficiency", title + " over N", efficiency, ""},
       weak,
       {"weak_efficiency", "", ""},
       {"efficiency", "", ""}},
  };
  std::vector<Figure> all;
  for (const Wanted& w : wanted) {
    std::vector<std::string> strategies;
    std::vector<Series> measured, predicted;
    if (w.measured != nullptr) measured = measured_series(*w.measured, w.measured_column, strategies);
    if (predictions != nullptr) predicted = predicted_series(*predictions, w.predicted_column, strategies);
    if (auto made = figure(w.kind, measured, predicted, knees, strategies)) all.push_back(std::move(*made));
  }
  return all;
}

}  // namespace ddpprof::report::html
