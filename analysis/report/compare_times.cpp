// What of a step takes longer in one of two files, and whether that is sure.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "analysis/report/compare_parts.hpp"
#include "analysis/report/units.hpp"
#include "simulator/stats/ratio.hpp"
#include "simulator/stats/summary.hpp"

namespace ddpprof::report {
namespace {

// Two runs of the same thing may differ by so much; where a file has one repeat, less is not called a difference, and
// an interval wider than this does not show that there is none.
constexpr double run_to_run = 0.10;
// A time that some steps lack has no ratio: it must lie within so much of a step for "no difference shown".
constexpr double negligible_of_step = 0.01;

struct Part {
  const char* name;
  double RunStep::*value;
};
constexpr Part parts[] = {
    {"step", &RunStep::duration_s},   {"compute", &RunStep::compute_s}, {"communication", &RunStep::communication_s},
    {"exposed", &RunStep::exposed_s}, {"skew", &RunStep::skew_s},       {"data wait", &RunStep::data_wait_s},
    {"copies", &RunStep::copy_s}};

std::vector<std::vector<double>> by_repeat(const std::vector<RunStep>& steps, double RunStep::*field) {
  std::map<std::int64_t, std::vector<double>> values;
  for (const RunStep& step : steps) values[step.measurement].push_back(step.*field);
  std::vector<std::vector<double>> all;
  for (auto& [measurement, one] : values) all.push_back(std::move(one));
  return all;
}

std::vector<double> joined(const std::vector<std::vector<double>>& repeats) {
  std::vector<double> all;
  for (const auto& one : repeats) all.insert(all.end(), one.begin(), one.end());
  return all;
}

std::string percent(double share) { return format_significant(100.0 * share, 2) + " %"; }

std::string one_repeat_where(std::size_t repeats_a, std::size_t repeats_b) {
  if (repeats_a > 1 && repeats_b > 1) return "";
  return repeats_a > 1 ? "B" : repeats_b > 1 ? "A" : "both files";
}

void judge(Difference& d, const std::string& one_repeat) {
  const stats::Interval& ratio = *d.ratio;
  const double widest = 1.0 + run_to_run;
  if (ratio.achieved_confidence < confidence) {
    d.verdict = cannot_tell;
    d.why = fmt::format("too few steps: the interval covers {} only; measure at least 6",
                        percent(ratio.achieved_confidence));
  } else if (ratio.low > 1.0 || ratio.high < 1.0) {
    const bool beyond = ratio.low > widest || ratio.high < 1.0 / widest;
    d.verdict = one_repeat.empty() || beyond ? different : cannot_tell;
    if (d.verdict == cannot_tell) {
      d.why = fmt::format("one repeat in {}: two runs of the same thing may differ by {}; measure more repeats",
                          one_repeat, percent(run_to_run));
    }
  } else if (ratio.high <= widest && ratio.low >= 1.0 / widest) {
    d.verdict = no_difference;
  } else {
    d.verdict = cannot_tell;
    d.why = "the interval is too wide; measure more repeats or steps";
  }
}

// Some steps have nothing of it: no ratio, so the interval of B − A. What repeats of one file differ by cannot be said
// as a part of it, so one repeat never shows a difference.
void judge_difference(Difference& d, const stats::Interval& b_less_a, const std::string& one_repeat) {
  d.why = fmt::format("some steps have none of it, so no ratio: B − A is from {} to {}", signed_time(b_less_a.low),
                      signed_time(b_less_a.high));
  const double negligible_s = negligible_of_step * d.pair->step_a_s;
  const bool apart = b_less_a.low > 0.0 || b_less_a.high < 0.0;
  d.verdict = cannot_tell;
  if (b_less_a.achieved_confidence < confidence) {
    d.why += fmt::format("; too few steps: the interval covers {} only; measure at least 6",
                         percent(b_less_a.achieved_confidence));
  } else if (apart && one_repeat.empty()) {
    d.verdict = different;
  } else if (apart) {
    d.why += fmt::format("; one repeat in {}: two runs of the same thing may differ; measure more repeats", one_repeat);
  } else if (b_less_a.high <= negligible_s && b_less_a.low >= -negligible_s) {
    d.verdict = no_difference;
  } else {
    d.why += "; the interval is too wide; measure more repeats or steps";
  }
}

std::optional<Difference> difference(const Pair& pair, const Part& part) {
  const auto in_a = by_repeat(pair.a->measured, part.value), in_b = by_repeat(pair.b->measured, part.value);
  const std::vector<double> a = joined(in_a), b = joined(in_b);
  Difference d;
  d.pair = &pair;
  d.what = part.name;
  d.a_s = stats::median(a);
  d.b_s = stats::median(b);
  if (d.a_s == 0.0 && d.b_s == 0.0) return std::nullopt;
  const std::string one_repeat = one_repeat_where(in_a.size(), in_b.size());
  const auto positive = [](double value) { return value > 0.0; };
  if (std::all_of(a.begin(), a.end(), positive) && std::all_of(b.begin(), b.end(), positive)) {
    d.ratio = stats::clustered_ratio_interval(in_b, in_a, confidence);
    judge(d, one_repeat);
  } else {
    judge_difference(d, stats::clustered_difference_interval(in_b, in_a, confidence), one_repeat);
  }
  return d;
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

double median_samples(const Configuration& c) {
  std::vector<double> samples;
  for (const RunStep& step : c.measured) samples.push_back(static_cast<double>(step.samples));
  return stats::median(samples);
}

}  // namespace

double Difference::of_step() const { return pair->step_a_s > 0 ? (b_s - a_s) / pair->step_a_s : 0.0; }

std::vector<Difference> differences(const Paired& paired, const std::function<bool()>& stopped) {
  std::vector<Difference> all;
  for (const Pair& pair : paired.both) {
    for (const Part& part : parts) {
      if (stopped()) return {};
      if (std::optional<Difference> d = difference(pair, part)) all.push_back(std::move(*d));
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
      "Medians over measured steps, as in the step and time tables. The interval of B / A is one of {} %: repeats and "
      "steps are resampled, and few repeats make it wider. Different: the interval leaves out 1, and where a file has "
      "one repeat it leaves out all of ± {} %, by which two runs may differ. No difference shown: it holds 1 and stays "
      "within ± {} %. Where some steps have none of it there is no ratio: the interval of B − A leaves out 0, with two "
      "repeats or more in both files; or it holds 0 and stays within ± {} % of A's step. Sorted by verdict, then by "
      "the "
      "difference's part of A's step.",
      100.0 * confidence, 100.0 * run_to_run, 100.0 * run_to_run, 100.0 * negligible_of_step);
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
  table.note = "Median samples of a step / median step; B / A has the step's interval.";
  table.columns.push_back(text("verdict", "verdict"));
  table.columns.push_back(quantity("a_samples_per_s", "A", "samples/s"));
  table.columns.push_back(quantity("b_samples_per_s", "B", "samples/s"));
  table.columns.back().scale_with = "a_samples_per_s";
  for (Column& column : ratio_columns()) table.columns.push_back(std::move(column));
  for (const Difference& d : all) {
    if (d.what != "step") continue;
    Row row = configuration_cells(*d.pair->a);
    add(row, {d.verdict, median_samples(*d.pair->a) / d.a_s, median_samples(*d.pair->b) / d.b_s});
    if (d.ratio) {
      const double samples = median_samples(*d.pair->b) / median_samples(*d.pair->a);
      add(row, {samples / d.ratio->mid, samples / d.ratio->high, samples / d.ratio->low});
    } else {
      add(row, {Cell(), Cell(), Cell()});
    }
    row.emplace_back(d.why);
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table only_in_one_table(const Paired& paired) {
  Table table = pair_table("only_in_one", "Measured in one file alone");
  table.empty = "Nothing: both files measured the same configurations.";
  table.columns.insert(table.columns.begin(), text("file", "file"));
  ++table.key_columns;
  table.columns.push_back(count("steps", "steps", "steps"));
  table.columns.push_back(seconds("step_median_s", "step"));
  const auto add_all = [&](const char* file, const std::vector<const Configuration*>& only) {
    for (const Configuration* c : only) {
      Row row = configuration_cells(*c);
      row.insert(row.begin(), Cell(file));
      add(row, {static_cast<std::int64_t>(c->measured.size()),
                stats::median(joined(by_repeat(c->measured, &RunStep::duration_s)))});
      table.rows.push_back(std::move(row));
    }
  };
  add_all("A", paired.only_a);
  add_all("B", paired.only_b);
  return table;
}

}  // namespace ddpprof::report
