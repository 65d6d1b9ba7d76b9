// Times of a step that differ between two files, and whether the difference is significant.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "analysis/report/tables/compare/compare_parts.hpp"
#include "simulator/stats/summary.hpp"
#include "simulator/units/units.hpp"

namespace ddpprof::report {
namespace {

struct Part {
  const char* name;
  double metrics::RunStep::*value;
};
constexpr Part parts[] = {{"step", &metrics::RunStep::duration_s},
                          {"compute", &metrics::RunStep::compute_s},
                          {"communication", &metrics::RunStep::communication_s},
                          {"exposed", &metrics::RunStep::exposed_s},
                          {"skew", &metrics::RunStep::skew_s},
                          {"host", &metrics::RunStep::host_s},
                          {"data wait", &metrics::RunStep::data_wait_s},
                          {"copies", &metrics::RunStep::copy_s}};

Samples by_repeat(const std::vector<metrics::RunStep>& steps, double metrics::RunStep::*field) {
  std::map<std::int64_t, std::vector<double>> values;
  for (const metrics::RunStep& step : steps) values[step.measurement].push_back(step.*field);
  Samples all;
  for (auto& [measurement, one] : values) all.push_back(std::move(one));
  return all;
}

int order(const Difference& d) { return d.verdict == different ? 0 : d.verdict == cannot_tell ? 1 : 2; }

std::vector<Column> ratio_columns() {
  return {digits(quantity("ratio", "B / A", "×"), 3), digits(quantity("ratio_low", "low", "×"), 3),
          digits(quantity("ratio_high", "high", "×"), 3), prose("why", "why")};
}

Table pair_table(std::string name, std::string title) {
  Table table;
  table.name = std::move(name);
  table.title = std::move(title);
  table.columns = configuration_columns();
  table.key_columns = configuration_column_count;
  table.empty = "No configuration was measured in both files.";
  return table;
}

void add(Row& row, std::initializer_list<Cell> cells) { row.insert(row.end(), cells.begin(), cells.end()); }

double median_samples(const metrics::Configuration& c) {
  std::vector<double> samples;
  for (const metrics::RunStep& step : c.measured) samples.push_back(static_cast<double>(step.samples));
  return stats::median(samples);
}

// Returns the ratio and verdict of the throughput. The verdict of the step holds only for equal samples in a step.
Difference throughput_difference(const Difference& step, double samples_ratio) {
  Difference throughput;
  throughput.pair = step.pair;
  throughput.what = "throughput";
  throughput.verdict = cannot_tell;
  throughput.why = step.why;
  if (!step.ratio) return throughput;
  throughput.ratio = stats::Interval{samples_ratio / step.ratio->high, samples_ratio / step.ratio->mid,
                                     samples_ratio / step.ratio->low, step.ratio->achieved_confidence};
  throughput.why.clear();
  const auto repeats = [](const metrics::Configuration& c) {
    return by_repeat(c.timed(), &metrics::RunStep::duration_s).size();
  };
  judge_ratio(throughput, repeats(*step.pair->a), repeats(*step.pair->b));
  return throughput;
}

}  // namespace

double Difference::of_step() const { return pair->step_a_s > 0 ? (b_s - a_s) / pair->step_a_s : 0.0; }

std::vector<std::string> compared_parts() {
  std::vector<std::string> names;
  for (const Part& part : parts) names.emplace_back(part.name);
  return names;
}

std::vector<Difference> differences(const Paired& paired, const std::function<bool()>& stopped) {
  std::vector<Difference> all;
  for (const Pair& pair : paired.both) {
    if (!pair.has_steps()) continue;
    for (const Part& part : parts) {
      if (stopped()) return {};
      if (part.value == &metrics::RunStep::host_s && !(pair.a->host_known() && pair.b->host_known())) continue;
      const auto of = [&](const metrics::Configuration& c) -> const std::vector<metrics::RunStep>& {
        return part.value == &metrics::RunStep::duration_s ? c.timed() : c.parts();
      };
      std::optional<Difference> d =
          judged(pair, part.name, by_repeat(of(*pair.a), part.value), by_repeat(of(*pair.b), part.value));
      if (d) all.push_back(std::move(*d));
    }
  }
  std::stable_sort(all.begin(), all.end(), [](const Difference& x, const Difference& y) {
    return std::pair(order(x), -std::abs(x.of_step())) < std::pair(order(y), -std::abs(y.of_step()));
  });
  return all;
}

Table compare_time_table(const std::vector<Difference>& all) {
  Table table = pair_table("compare_time", "Where the time differs");
  table.note = fmt::format(
      "Medians over measured steps, as in the step and time tables; the steps of recorded jobs are those that were "
      "timed without the profiler, and their parts are without its cost, if both files have such steps. B / A has a "
      "{} % interval; repeats and steps are resampled, and few repeats make it wider. Different: the interval excludes "
      "1; if a file has only one repeat, it excludes the whole range ± {} %, by which two runs may differ. No "
      "difference shown: the interval includes 1 and lies within ± {} %. If some steps have a time of 0, there is no "
      "ratio, and the interval of B − A is used. Different: it excludes 0, and both files have two or more repeats. No "
      "difference shown: it includes 0 and lies within ± {} % of A's step. Sorted by verdict, then by difference / A's "
      "step.",
      100.0 * metrics::confidence, 100.0 * run_to_run, 100.0 * run_to_run, 100.0 * negligible_of_step);
  table.columns.push_back(text("what", "what"));
  ++table.key_columns;
  table.columns.push_back(text("verdict", "verdict"));
  const std::vector<Column> more = {digits(seconds("a_s", "A"), 4), digits(seconds("b_s", "B", "a_s"), 4),
                                    digits(seconds("difference_s", "B − A", "a_s"), 3),
                                    share("difference_of_step", "of A's step")};
  table.columns.insert(table.columns.end(), more.begin(), more.end());
  for (Column& column : ratio_columns()) table.columns.push_back(std::move(column));
  for (const Difference& d : all) {
    Row row = configuration_cells(*d.pair->a);
    add(row, {d.what, d.verdict, d.a_s, d.b_s, d.b_s - d.a_s, d.of_step()});
    if (d.ratio)
      add(row, {d.ratio->mid, d.ratio->low, d.ratio->high});
    else
      add(row, {Cell(), Cell(), Cell()});
    row.emplace_back(d.why);
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table compare_throughput_table(const std::vector<Difference>& all) {
  Table table = pair_table("compare_throughput", "Throughput");
  table.note =
      "Median samples of a step / median step; B / A comes from the step's interval and "
      "the samples of both files; its verdict is made as in the times.";
  table.columns.push_back(text("verdict", "verdict"));
  table.columns.push_back(quantity("a_samples_per_s", "A", "samples/s"));
  table.columns.push_back(quantity("b_samples_per_s", "B", "samples/s"));
  table.columns.back().scale_with = "a_samples_per_s";
  for (Column& column : ratio_columns()) table.columns.push_back(std::move(column));
  for (const Difference& d : all) {
    if (d.what != "step") continue;
    Row row = configuration_cells(*d.pair->a);
    const double samples_a = median_samples(*d.pair->a), samples_b = median_samples(*d.pair->b);
    if (samples_a <= 0 || samples_b <= 0) {  // imports without a batch
      add(row, {cannot_tell, where_positive(samples_a / d.a_s), where_positive(samples_b / d.b_s), Cell(), Cell(),
                Cell(), "the number of samples per step is not recorded; import with --batch-per-worker"});
      table.rows.push_back(std::move(row));
      continue;
    }
    const Difference throughput = throughput_difference(d, samples_b / samples_a);
    add(row, {throughput.verdict, samples_a / d.a_s, samples_b / d.b_s});
    if (throughput.ratio)
      add(row, {throughput.ratio->mid, throughput.ratio->low, throughput.ratio->high});
    else
      add(row, {Cell(), Cell(), Cell()});
    row.emplace_back(throughput.why);
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table only_in_one_table(const Paired& paired) {
  Table table = pair_table("only_in_one", "Measured only in one file");
  table.empty = "Both files measured the same configurations.";
  table.columns.insert(table.columns.begin(), text("file", "file"));
  ++table.key_columns;
  table.columns.push_back(count("steps", "steps", "steps"));
  table.columns.push_back(seconds("step_median_s", "step"));
  const auto add_all = [&](const char* file, const std::vector<const metrics::Configuration*>& only) {
    for (const metrics::Configuration* c : only) {
      Row row = configuration_cells(*c);
      row.insert(row.begin(), Cell(file));
      add(row,
          {static_cast<std::int64_t>(c->measured.size()),
           c->measured.empty() ? Cell()
                               : Cell(stats::median(joined(by_repeat(c->timed(), &metrics::RunStep::duration_s))))});
      table.rows.push_back(std::move(row));
    }
  };
  add_all("A", paired.only_a);
  add_all("B", paired.only_b);
  return table;
}

}  // namespace ddpprof::report
