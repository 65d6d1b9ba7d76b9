#include "analysis/report/answer/glance.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "analysis/fit/text.hpp"
#include "analysis/metrics/scaling.hpp"
#include "analysis/predict/prediction.hpp"
#include "analysis/predict/sharded/sharded_prediction.hpp"
#include "analysis/report/core/columns.hpp"
#include "analysis/report/tables/models/stored_models.hpp"
#include "analysis/report/tables/steps/steps.hpp"

namespace ddpprof::report {
namespace {

std::int64_t whole(const Table& table, const Row& row, std::string_view column) {
  return value_of<std::int64_t>(table, row, column).value_or(0);
}

double real(const Table& table, const Row& row, std::string_view column) {
  return value_of<double>(table, row, column).value_or(0.0);
}

std::string words(const Table& table, const Row& row, std::string_view column) {
  return value_of<std::string>(table, row, column).value_or("");
}

using Steps = std::map<std::pair<std::string, std::int64_t>, GlanceStep>;

void add_measured(const Source& source, Steps& steps) {
  Source scaled{source.db, {}};
  for (const metrics::Configuration* c : scaling_configurations(source.configurations))
    scaled.configurations.push_back(*c);
  const Table table = step_table(scaled), times = time_table(scaled);
  for (std::size_t i = 0; i < table.rows.size(); ++i) {  // both tables have one row per configuration
    const Row& row = table.rows[i];
    GlanceStep step;
    step.strategy = words(table, row, "strategy");
    step.workers = whole(table, row, "workers");
    step.measured = true;
    step.steps = whole(table, row, "steps");
    step.range = !words(table, row, "step_bounds").empty();
    step.confidence = real(table, row, "step_confidence");
    step.step_s = real(table, row, "step_median_s");
    step.low_s = real(table, row, "step_low_s");
    step.high_s = real(table, row, "step_high_s");
    step.throughput = value_of<double>(table, row, "throughput_samples_per_s");
    step.efficiency = value_of<double>(table, row, "weak_efficiency");
    step.speedup = value_of<double>(table, row, "speedup");
    const double input_s = real(times, times.rows[i], "data_wait_s") + real(times, times.rows[i], "host_to_device_s");
    if (step.step_s > 0.0) step.input = input_s / step.step_s;
    if (step.workers != 1) step.exposed = value_of<double>(table, row, "communication_overhead");
    if (step.step_s > 0.0) steps.try_emplace({step.strategy, step.workers}, step);
  }
}

void add_predicted(const Source& source, Steps& steps) {
  // Only the first grouping by host of each strategy. The table of predictions has all.
  std::map<std::string, std::int64_t> grouping;
  const Table table = predictions_table(source);
  const std::set<std::string> strong = fit::strong_strategies(read_predictions(source));
  for (const Row& row : table.rows) {
    GlanceStep step;
    step.strategy = words(table, row, "strategy");
    step.workers = whole(table, row, "workers");
    const std::int64_t per_node = whole(table, row, "gpus_per_node");
    if (grouping.try_emplace(step.strategy, per_node).first->second != per_node) continue;
    step.step_s = real(table, row, "step_s");
    if (!(step.step_s > 0.0)) continue;
    step.low_s = real(table, row, "step_low_s");
    step.high_s = real(table, row, "step_high_s");
    step.confidence = real(table, row, "confidence");
    step.throughput = value_of<double>(table, row, "throughput_samples_per_s");
    step.efficiency = value_of<double>(table, row, "efficiency");
    step.strong = strong.contains(step.strategy);
    step.own_cores = words(table, row, "note").find(fit::own_cores_note) != std::string::npos;
    const auto shares = [&](GlanceStep& of) {
      of.compute = value_of<double>(table, row, "compute_share");
      of.transfer = value_of<double>(table, row, "exposed_share");
      of.skew = value_of<double>(table, row, "skew_share");
      of.host = value_of<double>(table, row, "host_share");
      of.other = value_of<double>(table, row, "other_share");
      of.bound = words(table, row, "bound");
    };
    const auto [at, added] = steps.try_emplace({step.strategy, step.workers}, step);
    // A prediction for another machine than the measured one has other parts.
    if (!added && std::abs(at->second.step_s - step.step_s) > 0.01 * step.step_s) continue;
    shares(at->second);
    const auto alone = steps.find({step.strategy, 1});
    if (step.strong && !at->second.efficiency && alone != steps.end() && alone->second.measured)
      at->second.efficiency = step.efficiency;  // a measured step of the same global batch
  }
}

void add_dedicated(const Source& source, Steps& steps) {
  const Table* table = outlook_of(source, "dedicated_predictions");
  if (table == nullptr) return;
  for (const Row& row : table->rows) {
    const auto at = steps.find({words(*table, row, "strategy"), whole(*table, row, "workers")});
    if (at == steps.end()) continue;
    at->second.dedicated_bound = words(*table, row, "bound");
    at->second.dedicated_s = value_of<double>(*table, row, "step_s");
    at->second.dedicated_low_s = value_of<double>(*table, row, "step_low_s");
    at->second.dedicated_high_s = value_of<double>(*table, row, "step_high_s");
  }
}

std::string measured_interval(const GlanceStep& step) {
  if (step.steps == 1) return "the only measured step itself";
  if (step.range) return "the shortest and the longest measured step";
  return fmt::format("the {} interval of a measured median", fit::percent(step.confidence));
}

// Says which intervals low and high are, unless all rows have the same kind. Rows of few repeats have a lower confidence.
std::string note_of_intervals(const std::vector<const GlanceStep*>& rows) {
  std::map<std::string, std::vector<std::string>> measured;
  std::optional<double> predicted;
  bool differ = false, several = false;
  for (const GlanceStep* row : rows) several |= row->strategy != rows.front()->strategy;
  for (const GlanceStep* row : rows) {
    differ |= row->confidence != rows.front()->confidence;
    if (row->measured)
      measured[measured_interval(*row)].push_back(several ? fmt::format("{} N = {}", row->strategy, row->workers)
                                                          : std::to_string(row->workers));
    else if (!predicted)
      predicted = row->confidence;
  }
  if (measured.empty() || !differ) return "";
  std::string note = "low, high: ";
  for (const auto& [interval, places] : measured) {
    if (interval != measured.begin()->first) note += ", ";
    note += interval;
    if (measured.size() > 1) note += fmt::format(" at {}{}", several ? "" : "N = ", fmt::join(places, ", "));
  }
  if (predicted) note += fmt::format(", and the {} interval of a prediction", fit::percent(*predicted));
  return note + ".";
}

}  // namespace

bool GlanceStep::wide() const { return high_s > widest_headline * low_s; }

std::vector<GlanceStep> glance_steps(const Source& source) {
  Steps steps;
  add_measured(source, steps);
  add_predicted(source, steps);
  add_dedicated(source, steps);
  std::vector<GlanceStep> all;
  for (auto& [key, step] : steps) all.push_back(std::move(step));
  return all;
}

Table glance_table(const std::vector<GlanceStep>& steps, std::size_t most, const std::set<GlancePlace>& kept) {
  Table table;
  table.name = "at_a_glance";
  table.title = "Steps, measured and predicted";
  table.empty = "No step was measured or predicted.";
  table.columns = {text("strategy", "strategy", true),
                   count("workers", "N", "workers"),
                   text("source", "source"),
                   digits(seconds("step_s", "step"), 4),
                   digits(seconds("low_s", "low", "step_s"), 4),
                   digits(seconds("high_s", "high", "step_s"), 4),
                   digits(quantity("throughput_samples_per_s", "throughput", "samples/s"), 4),
                   share("efficiency", "efficiency"),
                   share("compute_share", "compute"),
                   share("transfer_share", "exposed transfer"),
                   share("skew_share", "skew"),
                   share("host_share", "host"),
                   text("bound", "bound"),
                   digits(seconds("dedicated_step_s", "dedicated", "step_s"), 4)};
  for (Column& column : table.columns)
    column.hide_zero = column.name == "skew_share" || column.name == "host_share" || column.name == "transfer_share";
  table.key_columns = 2;
  std::vector<const GlanceStep*> shown;
  for (const GlanceStep& step : steps) shown.push_back(&step);
  std::map<std::string, std::int64_t> last_measured;
  for (const GlanceStep& step : steps)
    if (step.measured) last_measured[step.strategy] = step.workers;
  // Removes the row whose neighbours in N are nearest, so that the ends of each strategy stay: at first rows that are
  // not in `kept`. The largest measured N stays, if necessary instead of the smallest N.
  const auto importance = [&](const GlanceStep& step) {
    if (step.measured && step.workers == last_measured[step.strategy]) return 2;
    return kept.contains({step.strategy, step.workers}) ? 1 : 0;
  };
  const auto same = [&](std::size_t i, std::size_t j) {
    return j < shown.size() && shown[i]->strategy == shown[j]->strategy;
  };
  for (int removable = 0; shown.size() > most && removable <= 2;) {
    std::size_t closest = shown.size();
    double least = 0.0;
    for (std::size_t i = 0; i + 2 < shown.size(); ++i) {
      if (!same(i, i + 1) || !same(i, i + 2)) continue;  // fewer than three rows of this strategy follow
      const bool smallest = i == 0 || !same(i, i - 1);
      const std::size_t middle = importance(*shown[i + 1]) < 2 ? i + 1 : i;
      if (middle == i ? !smallest || removable < 2 : importance(*shown[middle]) > removable) continue;
      const double gap = static_cast<double>(shown[i + 2]->workers) / static_cast<double>(shown[i]->workers);
      if (closest == shown.size() || gap < least) closest = middle, least = gap;
    }
    if (closest == shown.size())
      ++removable;
    else
      shown.erase(shown.begin() + static_cast<std::ptrdiff_t>(closest));
  }
  table.note = note_of_intervals(shown);
  for (const GlanceStep* step : shown)
    table.rows.push_back({step->strategy, step->workers > 0 ? Cell(step->workers) : Cell(),
                          std::string(step->measured ? "measured" : step->own_cores ? "own cores" : "predicted"), step->step_s, step->low_s,
                          step->high_s, known(step->throughput), known(step->efficiency), known(step->compute),
                          known(step->transfer), known(step->skew), known(step->host),
                          step->bound.empty() ? Cell() : Cell(step->bound), known(step->dedicated_s)});
  return table;
}

}  // namespace ddpprof::report
