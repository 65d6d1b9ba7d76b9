#include "analysis/report/tables/ranks/rank_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "analysis/fit/measured/step_shares.hpp"
#include "analysis/report/core/columns.hpp"
#include "analysis/report/tables/source.hpp"
#include "simulator/stats/summary.hpp"

namespace ddpprof::report {
namespace {

constexpr const char* rank_part_rule =
    "Compute: intervals in which the rank computes, including overlapped communication. Exposed = communication − "
    "compute, including waits; “of it waits”: the waits that no compute hides, which predictions call skew. Waits: for "
    "slower ranks inside collectives, hidden or not. Host: the device waits for the host's "
    "launches. Input: waiting for data and copying it to the device. Other: the rest of the step. ";

double other_s(const metrics::RankStep& step) {
  return step.parts()[static_cast<std::size_t>(metrics::RankPart::other)];
}

// Jobs on CPUs have no such time.
void hide_without_host(Table& table) {
  for (Column& column : table.columns)
    if (column.name.starts_with("host_")) column.hide_zero = true;
}

template <class Value>
double median_over(const std::vector<const metrics::RankStep*>& steps, Value&& value) {
  std::vector<double> values;
  for (const metrics::RankStep* step : steps) values.push_back(value(*step));
  return stats::median(values);
}

}  // namespace

Table ranks_table(const metrics::RankTimes& times) {
  Table table;
  table.name = "ranks";
  table.title = "Ranks";
  table.note =
      (times.repeats > 1 ? fmt::format("Medians over the measured steps of this repeat, one of {} (report "
                                       "skew pools them), that every rank recorded. ",
                                       times.repeats)
                         : std::string("Medians over the measured steps that every rank recorded. ")) +
      "Without such a step, medians are over each rank's own steps, and ranks are not compared. Communication, "
      "overlapped, exposed with its waits, host, input and other: mean share of the steps × median step, as in ddpprof "
      "predict. Waits are not known if only one of several ranks was recorded. " +
      rank_part_rule +
      "Against the mean = compute of the rank / mean over the ranks − 1. Slowest: share of the steps in which "
      "the compute of this rank took longest (ties go to the lower rank). Last: share of the collectives in "
      "which this rank arrived last.";
  table.empty = "No measured step in this range. Select a longer range, or measure with: ddpprof run SCENARIO.yaml";
  table.columns = {count("rank", "rank"),
                   text("host", "host", true),
                   count("steps", "steps", "steps"),
                   seconds("step_median_s", "step"),
                   seconds("compute_median_s", "compute", "step_median_s"),
                   share("compute_against_mean", "against the mean"),
                   seconds("communication_s", "communication", "step_median_s"),
                   seconds("overlapped_s", "overlapped", "step_median_s"),
                   seconds("exposed_s", "exposed", "step_median_s"),
                   seconds("exposed_wait_s", "of it waits", "step_median_s"),
                   seconds("skew_median_s", "waits", "step_median_s"),
                   seconds("host_s", "host", "step_median_s"),
                   seconds("input_s", "input", "step_median_s"),
                   seconds("other_s", "other", "step_median_s"),
                   share("slowest_share", "slowest"),
                   share("last_share", "last")};
  if (std::ranges::any_of(times.steps, [](const metrics::RankStep& step) { return step.kind == "untraced"; })) {
    table.note += " The steps are those with the profiler; the step time of the other reports is without it.";
    for (Column& column : table.columns)
      if (column.name == "step_median_s" || column.name == "exposed_s") column.title += ", with profiler";
  }
  hide_without_host(table);
  table.key_columns = 2;
  auto by_rank = measured_by_rank(times);
  const metrics::StepRows complete = complete_steps(times);
  std::map<std::int64_t, std::int64_t> slowest;  // number of steps by rank
  for (const auto& [step, ranks] : complete)
    ++slowest[std::ranges::max_element(ranks, {}, [](const auto& one) { return one.second->compute_s; })->first];
  std::vector<double> computes;
  for (auto& [rank, steps] : by_rank) {
    if (!complete.empty())
      std::erase_if(steps, [&](const metrics::RankStep* step) { return !complete.contains(step->step); });
    computes.push_back(median_over(steps, [](const metrics::RankStep& step) { return step.compute_s; }));
  }
  const double mean = computes.empty() ? 0.0 : stats::mean(computes);
  const auto if_known = [&](double value) { return times.communication_known ? Cell(value) : Cell(); };
  const auto if_waits_known = [&](double value) { return times.waits_known ? Cell(value) : Cell(); };
  for (const auto& [rank, steps] : by_rank) {
    const auto median = [&, &of = steps](double metrics::RankStep::*field) {
      return median_over(of, [&](const metrics::RankStep& step) { return step.*field; });
    };
    // Medians of the parts would not add up to the step.
    const double step_s = median(&metrics::RankStep::step_s);
    const auto part = [&, &of = steps](auto&& value) {
      double shares = 0.0, count = 0.0;
      for (const metrics::RankStep* step : of) {
        if (step->step_s > fit::most_medians_of_a_step * step_s) continue;
        shares += value(*step) / step->step_s;
        count += 1.0;
      }
      return count > 0.0 ? shares / count * step_s : 0.0;
    };
    const auto part_of = [&](double metrics::RankStep::*field) {
      return part([&](const metrics::RankStep& step) { return step.*field; });
    };
    const auto last = std::count_if(times.arrivals.begin(), times.arrivals.end(),
                                    [own = rank](const metrics::Arrival& arrival) { return arrival.last == own; });
    const double compute = median(&metrics::RankStep::compute_s);
    table.rows.push_back(
        {rank, times.hosts.at(rank), static_cast<std::int64_t>(steps.size()), step_s, compute,
         mean > 0 && !complete.empty() ? Cell(compute / mean - 1.0) : Cell(),
         if_known(part_of(&metrics::RankStep::communication_s)), if_known(part_of(&metrics::RankStep::overlapped_s)),
         if_known(part_of(&metrics::RankStep::exposed_s)), if_waits_known(part_of(&metrics::RankStep::exposed_wait_s)),
         if_waits_known(median(&metrics::RankStep::skew_s)), part_of(&metrics::RankStep::host_s),
         part_of(&metrics::RankStep::input_s), part(other_s),
         ratio(static_cast<double>(slowest[rank]), static_cast<double>(complete.size())),
         times.arrivals.empty() ? Cell()
                                : Cell(static_cast<double>(last) / static_cast<double>(times.arrivals.size()))});
  }
  return table;
}

Table rank_steps_table(const metrics::RankTimes& times) {
  Table table;
  table.name = "rank_steps";
  table.title = "Steps of each rank";
  table.note = rank_part_rule;
  table.empty = "No step in this range. Select a longer range, or measure with: ddpprof run SCENARIO.yaml";
  table.columns = {count("step", "step"),
                   count("rank", "rank"),
                   text("kind", "kind"),
                   seconds("step_s", "time"),
                   seconds("compute_s", "compute", "step_s"),
                   seconds("communication_s", "communication", "step_s"),
                   seconds("overlapped_s", "overlapped", "step_s"),
                   seconds("exposed_s", "exposed", "step_s"),
                   seconds("exposed_wait_s", "of it waits", "step_s"),
                   seconds("skew_s", "waits", "step_s"),
                   seconds("host_s", "host", "step_s"),
                   seconds("input_s", "input", "step_s"),
                   seconds("other_s", "other", "step_s")};
  hide_without_host(table);
  table.key_columns = 2;
  const auto if_known = [&](double value) { return times.communication_known ? Cell(value) : Cell(); };
  for (const metrics::RankStep& step : times.steps) {
    table.rows.push_back({step.step, step.rank, step.kind, step.step_s, step.compute_s, if_known(step.communication_s),
                          if_known(step.overlapped_s), if_known(step.exposed_s),
                          times.waits_known ? Cell(step.exposed_wait_s) : Cell(),
                          times.waits_known ? Cell(step.skew_s) : Cell(), step.host_s, step.input_s, other_s(step)});
  }
  return table;
}

Table step_percentiles_table(const metrics::RankTimes& times) {
  constexpr std::pair<const char*, double> shown[] = {{"p1", 0.01},  {"p5", 0.05},  {"p25", 0.25}, {"p50", 0.50},
                                                      {"p75", 0.75}, {"p95", 0.95}, {"p99", 0.99}};
  Table table;
  table.name = "step_percentiles";
  table.title = "Percentiles of the step time";
  table.note =
      "Measured steps; each step of each rank counts. p95: 95 % of the steps took at most this time, interpolated "
      "between neighbours. With few steps the outer percentiles are near the fastest and the slowest step.";
  table.empty = "No measured step in this range. Select a longer range, or measure with: ddpprof run SCENARIO.yaml";
  table.columns = {text("rank", "rank"), count("steps", "steps", "steps"), seconds("fastest_s", "fastest")};
  for (const auto& [name, probability] : shown)
    table.columns.push_back(digits(seconds(std::string(name) + "_s", name, "fastest_s"), 4));
  table.columns.push_back(seconds("slowest_s", "slowest", "fastest_s"));
  for (const std::size_t i : {std::size_t{2}, table.columns.size() - 1}) table.columns[i].digits = 4;
  table.key_columns = 1;
  const auto add = [&](const std::string& rank, const std::vector<double>& step_s) {
    Row row = {rank, static_cast<std::int64_t>(step_s.size()), std::ranges::min(step_s)};
    for (const auto& [name, probability] : shown) row.emplace_back(stats::quantile(step_s, probability));
    row.emplace_back(std::ranges::max(step_s));
    table.rows.push_back(std::move(row));
  };
  std::vector<double> all;
  std::map<std::int64_t, std::vector<double>> by_rank;
  for (const metrics::RankStep& step : times.steps) {
    if (step.kind != "measured") continue;
    all.push_back(step.step_s);
    by_rank[step.rank].push_back(step.step_s);
  }
  if (all.empty()) return table;
  if (by_rank.size() > 1) add("all", all);
  for (const auto& [rank, step_s] : by_rank) add(std::to_string(rank), step_s);
  return table;
}

Table stragglers_table(const metrics::RankTimes& times, const metrics::RankFindings& findings) {
  Table table;
  table.name = "stragglers";
  table.title = "Stragglers";
  table.note =
      "Last: share of the collectives in which the rank arrived last (it waited least; no clock is used). By: the "
      "median wait of the other ranks for this rank. p: probability of the observed result, or a more extreme one, if "
      "all ranks were alike, multiplied by the number of compared ranks. A rank is named if p < 0.01 and the other "
      "ranks lose 1 % of the step, or its compute is 2 % longer.";
  table.empty = findings.summary;
  table.columns = {count("rank", "rank"),
                   text("host", "host", true),
                   share("last_share", "last"),
                   seconds("kept_waiting_s", "by"),
                   share("lost_share", "of the step"),
                   digits(quantity("last_p", "p", ""), 2),
                   share("compute_excess", "compute longer by"),
                   digits(quantity("compute_p", "p of that", ""), 2),
                   prose("evidence", "evidence")};
  table.key_columns = 2;
  for (const metrics::RankEvidence& evidence : findings.ranks) {
    if (!evidence.named()) continue;
    table.rows.push_back({evidence.rank, evidence.host,
                          times.arrivals.empty() ? Cell()
                                                 : Cell(static_cast<double>(evidence.arrives_last) /
                                                        static_cast<double>(times.arrivals.size())),
                          evidence.kept_waiting_s, evidence.lost_share, evidence.last_p, evidence.compute_excess,
                          evidence.compute_p, evidence.text()});
  }
  return table;
}

Table slow_steps_table(const metrics::RankFindings& findings) {
  Table table;
  table.name = "slow_steps";
  table.title = "Slow steps";
  table.note =
      "Steps above median + 5 · 1.4826 · MAD; values are means over the ranks. What grew: the part that exceeds its "
      "own median most. Rank: the rank whose compute exceeds its own median most.";
  table.empty = "No step is above median + 5 · 1.4826 · MAD.";
  table.columns = {count("step", "step"),
                   seconds("step_s", "time"),
                   seconds("excess_s", "above the median", "step_s"),
                   text("part", "what grew"),
                   seconds("part_excess_s", "by", "step_s"),
                   count("slowest_rank", "rank"),
                   seconds("slowest_excess_s", "its compute by", "step_s")};
  table.key_columns = 1;
  for (const metrics::SlowStep& slow : findings.slow_steps) {
    table.rows.push_back({slow.step, slow.step_s, slow.excess_s, std::string(to_string(slow.part)), slow.part_excess_s,
                          slow.slowest_rank, slow.slowest_excess_s});
  }
  return table;
}

}  // namespace ddpprof::report
