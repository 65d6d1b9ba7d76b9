#include "analysis/report/tables/compare/compare.hpp"

#include <SQLiteCpp/Exception.h>
#include <SQLiteCpp/Statement.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <utility>

#include "analysis/report/tables/compare/compare_kernels.hpp"
#include "analysis/report/tables/compare/compare_parts.hpp"
#include "simulator/units/units.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof::report {
namespace {

std::string listed(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

// "a step takes 18.7 ms in B and 12.3 ms in A: 1.52 times as long (1.48 to 1.57); exposed +5.1 ms, compute +1.2 ms."
std::string step_sentence(const Difference& step, const std::vector<Difference>& all) {
  std::string text = fmt::format(
      "a step takes {} in B and {} in A: {} times as long ({} to {})", units::format_quantity(step.b_s, "s"),
      units::format_quantity(step.a_s, "s"), units::format_significant(step.ratio->mid, 3),
      units::format_significant(step.ratio->low, 3), units::format_significant(step.ratio->high, 3));
  std::vector<std::string> parts;
  for (const Difference& d : all)
    if (d.pair == step.pair && d.what != "step" && d.verdict == different)
      parts.push_back(d.what + " " + signed_time(d.b_s - d.a_s));
  return text + (parts.empty() ? ". No part of the step differs significantly." : "; " + listed(parts) + ".");
}

// Without devices the rows of compare_kernels are operations of the host.
std::string where_run(const std::vector<KernelDifference>& kernels, const Pair& pair) {
  const bool host =
      std::ranges::any_of(kernels, [&](const KernelDifference& d) { return d.pair == &pair && d.kind == "operation"; });
  return host ? "on the host: " : "on the devices: ";
}

Source source_of(store::Database& database) {
  try {
    return {database.sql(), metrics::read_configurations(database.sql())};
  } catch (const SQLite::Exception& error) {
    throw store::translate(error, database.path());
  }
}

bool sweeps_alone(const Source& file) {
  return reading(file, [](const Source& source) {
    SQLite::Statement q(source.db, "SELECT COUNT(*) > 0 AND COUNT(*) = SUM(kind = 'bench-comm') FROM measurement");
    return q.executeStep() && q.getColumn(0).getInt() != 0;
  });
}

bool imports_alone(const Source& file) {
  return !file.configurations.empty() &&
         std::ranges::all_of(file.configurations, [](const metrics::Configuration& c) { return c.kind == "import"; });
}

// Returns why no configuration is in both files, and what to do.
std::string nothing_in_common(const Source& a, const Source& b) {
  const bool in_a = sweeps_alone(a), in_b = sweeps_alone(b);
  if (in_a || in_b) {
    return fmt::format(
        "Cannot compare: {} only sweeps of collectives (ddpprof bench-comm), and only steps are compared. Show each "
        "sweep with: ddpprof report FILE.db --report comm",
        in_a && in_b ? "both files contain"
        : in_a       ? "A contains"
                     : "B contains");
  }
  if (imports_alone(a) && imports_alone(b)) {
    return "Cannot compare: no import of one file matches an import of the other in strategy, N, batch, accumulation "
           "and the presence of steps. Show the contents of each file with: ddpprof report FILE.db --report imported";
  }
  return "Cannot compare: no configuration (model, strategy, N, batch) was measured in both files. Measure one of them "
         "again with the scenario of the other.";
}

// Equal configurations of both files. Without any, those that differ in one property alone: this shows its effect.
Paired paired_for_compare(const Source& a, const Source& b) {
  Paired paired = pair_up(a, b);
  for (const Differing one : {Differing::workers, Differing::batch, Differing::accumulation})
    if (paired.both.empty()) paired = pair_up(a, b, one);
  return paired;
}

}  // namespace

std::string signed_time(double seconds) {
  return (seconds < 0 ? "−" : "+") + units::format_quantity(std::abs(seconds), "s");
}

Cell cell_or_unknown(const Table& table, const Row& row, const std::string& column) {
  for (std::size_t i = 0; i < table.columns.size(); ++i)
    if (table.columns[i].name == column) return row[i];
  return {};
}

std::string text_of(const Table& table, const Row& row, const std::string& column) {
  const Cell cell = cell_or_unknown(table, row, column);
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  if (const auto* integer = std::get_if<std::int64_t>(&cell)) return std::to_string(*integer);
  if (const auto* real = std::get_if<double>(&cell)) return units::format_significant(*real, 4);
  return "";
}

Table compare_answer_table(const Source& a, const Source& b, const Paired& paired, const std::vector<Difference>& all,
                           const std::vector<KernelDifference>& kernels) {
  Table table;
  table.name = "compare_answer";
  table.title = "Answer";
  if (paired.both.empty()) table.empty = nothing_in_common(a, b);
  table.columns = {text("verdict", "verdict"), prose("about", "about"), prose("what", "what")};
  std::vector<std::string> same, unknown;
  for (const Difference& d : all) {
    if (d.what != "step") continue;
    if (d.verdict == different && d.ratio)
      table.rows.push_back({different, d.pair->about, step_sentence(d, all)});
    else
      (d.verdict == cannot_tell ? unknown : same).push_back(d.pair->about);
  }
  for (const Difference& d : all) {
    if (d.what != "step" || d.verdict != cannot_tell) continue;
    std::string range;
    if (d.ratio) {
      range = fmt::format("a step takes from {} to {} times as long in B: ", units::format_significant(d.ratio->low, 3),
                          units::format_significant(d.ratio->high, 3));
    }
    table.rows.push_back({cannot_tell, d.pair->about, range + d.why});
  }
  for (const Pair& pair : paired.both) {
    if (const std::string text = kernels_sentence(kernels, pair); !text.empty())
      table.rows.push_back({different, pair.about, where_run(kernels, pair) + text});
    if (!pair.has_steps())
      table.rows.push_back(
          {cannot_tell, pair.about,
           "neither trace has steps; the table compare_kernels compares what the devices ran in the whole traces"});
    if (!pair.despite.empty()) table.rows.push_back({"note", pair.about, pair.despite});
  }
  if (!same.empty())
    table.rows.push_back({no_difference, listed(same), "the step takes the same time in B as in A, within ± 10 %"});
  if (paired.both.empty()) table.rows.push_back({cannot_tell, "", table.empty});
  if (!paired.only_a.empty() || !paired.only_b.empty()) {
    const auto counted = [](std::size_t count, const char* file) {
      return fmt::format("{} configuration{} only in {}", count, count == 1 ? "" : "s", file);
    };
    table.rows.push_back(
        {"only in one", "",
         fmt::format("not compared: {}, {}", counted(paired.only_a.size(), "A"), counted(paired.only_b.size(), "B"))});
  }
  return table;
}

Report compare(store::Database& a, store::Database& b, const std::vector<KeyDifference>& scenario_differences,
               const std::function<bool()>& stop) {
  const auto stopped = [&stop] { return stop && stop(); };
  if (stopped()) return {};
  const Source in_a = source_of(a);
  if (stopped()) return {};
  const Source in_b = source_of(b);
  const Paired paired = paired_for_compare(in_a, in_b);
  const std::vector<Difference> all = differences(paired, stopped);
  if (stopped()) return {};
  const std::vector<KernelDifference> kernels = kernel_differences(in_a, in_b, paired, stopped);
  if (stopped()) return {};
  Table waterfall = compare_waterfall_table(in_a, in_b, paired, stopped);
  if (stopped()) return {};
  Table collectives = compare_collectives_table(in_a, in_b, paired, stopped);
  if (stopped()) return {};
  return {"compare",
          "Comparison",
          {compare_answer_table(in_a, in_b, paired, all, kernels),
           compare_files_table(in_a, a.path().string(), in_b, b.path().string()), compare_time_table(all),
           std::move(waterfall), compare_throughput_table(all), compare_kernels_table(kernels), std::move(collectives),
           compare_settings_table(in_a, in_b, paired, scenario_differences), only_in_one_table(paired),
           compare_fits_table(in_a, in_b), compare_parameters_table(in_a, in_b), compare_notices_table(in_a, in_b)}};
}

std::vector<ComparedMeasurements> waterfall_measurements(store::Database& a, store::Database& b) {
  const Source in_a = source_of(a), in_b = source_of(b);
  std::vector<ComparedMeasurements> all;
  for (const Pair& pair : paired_for_compare(in_a, in_b).both)
    if (in_waterfall(in_a, in_b, pair)) all.push_back({pair.a->measurements, pair.b->measurements});
  return all;
}

namespace {

std::string nothing_within(const Source& whole, const Selection& a, const Selection& b) {
  std::set<std::int64_t> measured;
  for (const metrics::Configuration& c : whole.configurations)
    measured.insert(a.workers ? c.world_size : c.batch_per_worker);
  std::vector<std::string> words;
  for (const std::int64_t number : measured) words.push_back(std::to_string(number));
  return fmt::format(
      "Cannot compare: no measurement with {0} {1} is equal to one with {0} {2} in model, strategy, {3} and "
      "accumulation. The file has {0} {4}.",
      a.workers ? "N =" : "batch", a.workers ? *a.workers : *a.batch_per_worker,
      b.workers ? *b.workers : *b.batch_per_worker, a.workers ? "batch" : "N", listed(words));
}

}  // namespace

Report compare_within(store::Database& database, const Selection& a, const Selection& b) {
  const Source whole = source_of(database);
  const auto selected = [&](const Selection& selection) {
    Source some{whole.db, {}};
    std::ranges::copy_if(whole.configurations, std::back_inserter(some.configurations),
                         [&](const metrics::Configuration& c) {
                           return selection.workers ? c.world_size == *selection.workers
                                                    : c.batch_per_worker == selection.batch_per_worker;
                         });
    return some;
  };
  const Source in_a = selected(a), in_b = selected(b);
  const Paired paired = pair_up(in_a, in_b, a.workers ? Differing::workers : Differing::batch);
  const auto go_on = [] { return false; };
  const std::vector<Difference> all = differences(paired, go_on);
  const std::vector<KernelDifference> kernels = kernel_differences(in_a, in_b, paired, go_on);
  Table answer = compare_answer_table(in_a, in_b, paired, all, kernels);
  if (paired.both.empty()) {
    answer.empty = nothing_within(whole, a, b);
    answer.rows = {{cannot_tell, "", answer.empty}};
  }
  return {"compare",
          "Comparison",
          {std::move(answer), compare_time_table(all), compare_waterfall_table(in_a, in_b, paired, go_on),
           compare_throughput_table(all), compare_kernels_table(kernels),
           compare_collectives_table(in_a, in_b, paired, go_on), compare_settings_table(in_a, in_b, paired, {}),
           only_in_one_table(paired)}};
}

}  // namespace ddpprof::report
