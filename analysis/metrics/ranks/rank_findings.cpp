#include "analysis/metrics/ranks/rank_findings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <set>

#include "analysis/metrics/conditions.hpp"
#include "simulator/stats/autocorrelation.hpp"
#include "simulator/stats/binomial.hpp"
#include "simulator/stats/outliers.hpp"
#include "simulator/stats/summary.hpp"
#include "simulator/units/units.hpp"

namespace ddpprof::metrics {
namespace {

// Means of blocks, each longer than neighbours are alike, so that a test does not count the same thing twice.
std::vector<double> blocks(const std::vector<double>& series, std::size_t length) {
  std::vector<double> means;
  for (std::size_t begin = 0; begin + length <= series.size(); begin += length)
    means.push_back(stats::mean(std::span(series).subspan(begin, length)));
  return means;
}

// One-sided, of "the rank's is no longer than the others' median": sign test of the difference, step by step, so that
// what all ranks of a step share counts for nothing. Its signs are looked at as well: a few wild steps hide from the
// difference's autocorrelation how long a rank stays on one side.
double longer_p(const std::vector<double>& own, const std::vector<double>& others) {
  std::vector<double> difference(own.size()), sign(own.size());
  for (std::size_t i = 0; i < own.size(); ++i) {
    difference[i] = own[i] - others[i];
    sign[i] = static_cast<double>((difference[i] > 0) - (difference[i] < 0));
  }
  const double alike =
      std::max(stats::integrated_autocorrelation_time(difference), stats::integrated_autocorrelation_time(sign));
  std::int64_t longer = 0, unequal = 0;
  // 1 where neighbours are independent, about twice the autocorrelation time else: in blocks of once that time the last
  // steps of one are still like the first of the next.
  const auto length = static_cast<std::size_t>(std::ceil(2.0 * std::max(alike, 1.0) - 1.0 - 1e-9));
  for (const double block : blocks(difference, length)) {
    longer += block > 0;
    unequal += block != 0;
  }
  return stats::binomial_upper_tail(unequal, longer, 0.5);
}

double bonferroni(double p, std::size_t tests) { return std::min(1.0, p * static_cast<double>(tests)); }

// Values of the other ranks in a step.
double others_median(const std::map<std::int64_t, const RankStep*>& ranks, std::int64_t but, double RankStep::*field) {
  std::vector<double> others;
  for (const auto& [rank, step] : ranks)
    if (rank != but) others.push_back(step->*field);
  return stats::median(others);
}

void judge_waiting(RankEvidence& evidence, const RankTimes& times, const StepRows& rows, double median_step_s) {
  std::vector<double> kept;
  for (const Arrival& arrival : times.arrivals) {
    ++evidence.collectives;
    if (arrival.last != evidence.rank) continue;
    ++evidence.arrives_last;
    kept.push_back(arrival.kept_waiting_s);
  }
  if (!kept.empty()) evidence.kept_waiting_s = stats::median(kept);
  std::vector<double> is_last, lost, last_ranks;
  for (const auto& [step, ranks] : rows) {
    const RankStep& own = *ranks.at(evidence.rank);
    const auto skew_of = [](const auto& entry) { return entry.second->skew_s; };
    const double least_s = skew_of(*std::ranges::min_element(ranks, {}, skew_of));
    const auto least = std::ranges::count(ranks, least_s, skew_of);
    if (least == std::ssize(ranks)) continue;  // no rank waited, or all of them equally
    last_ranks.push_back(static_cast<double>(least));
    is_last.push_back(own.skew_s == least_s ? 1.0 : 0.0);  // equally slow ranks are last together
    if (own.skew_s == least_s)
      // Waiting that compute hides costs nothing.
      lost.push_back(
          std::min(others_median(ranks, evidence.rank, &RankStep::skew_s) - own.skew_s,
                   std::max(0.0, others_median(ranks, evidence.rank, &RankStep::exposed_s) - own.exposed_s)));
  }
  evidence.steps = static_cast<std::int64_t>(is_last.size());
  evidence.last_in_steps = static_cast<std::int64_t>(lost.size());
  if (lost.empty() || !(median_step_s > 0)) return;
  evidence.lost_share = stats::mean(lost) / median_step_s;
  const double worth = stats::effective_sample_size(is_last);
  const auto trials = static_cast<std::int64_t>(std::floor(worth + 1e-9));
  const auto successes = static_cast<std::int64_t>(
      std::floor(worth * static_cast<double>(lost.size()) / static_cast<double>(is_last.size()) + 1e-9));
  const double by_chance = stats::mean(last_ranks) / static_cast<double>(times.hosts.size());
  evidence.last_p = bonferroni(stats::binomial_upper_tail(trials, successes, by_chance), times.hosts.size());
  evidence.keeps_waiting = evidence.last_p < finding_p_most && evidence.lost_share >= finding_wait_least;
}

void judge_parts(RankEvidence& evidence, const StepRows& rows, double median_step_s) {
  std::vector<double> compute, others_compute, ratio, input, others_input, input_more;
  for (const auto& [step, ranks] : rows) {
    const RankStep& own = *ranks.at(evidence.rank);
    compute.push_back(own.compute_s);
    others_compute.push_back(others_median(ranks, evidence.rank, &RankStep::compute_s));
    if (others_compute.back() > 0) ratio.push_back(own.compute_s / others_compute.back() - 1.0);
    ++evidence.compared_steps;
    evidence.computed_longer_in += own.compute_s > others_compute.back() ? 1 : 0;
    input.push_back(own.input_s);
    others_input.push_back(others_median(ranks, evidence.rank, &RankStep::input_s));
    input_more.push_back(input.back() - others_input.back());
  }
  if (ratio.empty()) return;
  const std::size_t tests = rows.begin()->second.size();
  evidence.compute_excess = stats::median(ratio);
  evidence.compute_p = bonferroni(longer_p(compute, others_compute), tests);
  evidence.computes_longer = evidence.compute_p < finding_p_most && evidence.compute_excess >= finding_compute_least;
  evidence.input_excess_s = stats::median(input_more);
  evidence.input_p = bonferroni(longer_p(input, others_input), tests);
  evidence.waits_for_input =
      evidence.input_p < finding_p_most && evidence.input_excess_s >= finding_wait_least * median_step_s;
}

// Returns the disturbances of the rank's host, with the messages of the diagnostics.
std::vector<std::string> host_disturbances(const RankTimes& times, const std::string& host) {
  Configuration configuration;
  configuration.measurements = {times.measurement};
  Conditions conditions;
  for (const store::HostConditionRow& row : times.conditions)
    if (row.host == host) conditions[times.measurement].push_back(row);
  std::vector<std::string> sentences;
  for (const Disturbance& disturbance : disturbances(configuration, conditions))
    sentences.push_back(disturbance.message);
  return sentences;
}

std::array<double, rank_part_count> mean_parts(const std::map<std::int64_t, const RankStep*>& ranks) {
  std::array<double, rank_part_count> sum{};
  for (const auto& [rank, step] : ranks) {
    const auto parts = step->parts();
    for (std::size_t i = 0; i < rank_part_count; ++i) sum[i] += parts[i] / static_cast<double>(ranks.size());
  }
  return sum;
}

std::vector<SlowStep> find_slow_steps(const StepRows& rows) {
  std::vector<double> durations;
  std::vector<std::array<double, rank_part_count>> parts;
  std::vector<std::int64_t> numbers;
  std::map<std::int64_t, std::vector<double>> computes;
  for (const auto& [number, ranks] : rows) {
    numbers.push_back(number);
    parts.push_back(mean_parts(ranks));
    double sum = 0;
    for (const auto& [rank, step] : ranks) {
      sum += step->step_s;
      computes[rank].push_back(step->compute_s);
    }
    durations.push_back(sum / static_cast<double>(ranks.size()));
  }
  if (durations.empty()) return {};
  std::array<double, rank_part_count> usual{};
  for (std::size_t part = 0; part < rank_part_count; ++part) {
    std::vector<double> series;
    for (const auto& of_step : parts) series.push_back(of_step[part]);
    usual[part] = stats::median(series);
  }
  const double median_s = stats::median(durations);
  std::vector<SlowStep> slow;
  for (const std::size_t i : stats::find_outliers(durations).indices) {
    SlowStep step{numbers[i], durations[i], durations[i] - median_s, RankPart::other, -1.0, 0, -1.0};
    for (std::size_t part = 0; part < rank_part_count; ++part) {
      const double excess = parts[i][part] - usual[part];
      if (excess <= step.part_excess_s) continue;
      step.part = static_cast<RankPart>(part);
      step.part_excess_s = excess;
    }
    for (const auto& [rank, series] : computes) {
      const double excess = series[i] - stats::median(series);
      if (excess <= step.slowest_excess_s) continue;
      step.slowest_rank = rank;
      step.slowest_excess_s = excess;
    }
    slow.push_back(step);
  }
  return slow;
}

// " Ranks 1 and 3 of 4 recorded no step here and are not compared.", or "".
std::string missing_text(const RankFindings& findings, std::int64_t workers) {
  constexpr std::size_t named_most = 8;
  const std::vector<std::int64_t>& missing = findings.missing;
  if (missing.empty()) return "";
  std::string names = std::to_string(missing.front());
  const std::size_t named = std::min(missing.size(), named_most);
  for (std::size_t i = 1; i < named; ++i)
    names += (i + 1 == missing.size() ? " and " : ", ") + std::to_string(missing[i]);
  if (named < missing.size()) names += fmt::format(" and {} more", missing.size() - named);
  return missing.size() == 1
             ? fmt::format(" Rank {} of {} recorded no step here and is not compared.", names, workers)
             : fmt::format(" Ranks {} of {} recorded no step here and are not compared.", names, workers);
}

// Returns true if a rank that is last in all of `steps` steps would be significant.
bool can_find_last(std::int64_t steps, std::size_t ranks) {
  return bonferroni(stats::binomial_upper_tail(steps, steps, 1.0 / static_cast<double>(ranks)), ranks) < finding_p_most;
}

// The rank that came last in most collectives.
struct Arrivals {
  std::int64_t rank = 0, last = 0, collectives = 0;
};

Arrivals most_arrivals(const RankFindings& findings) {
  const auto most = std::ranges::max_element(findings.ranks, {}, &RankEvidence::arrives_last);
  return {most->rank, most->arrives_last, most->collectives};
}

std::string summary_of(const RankFindings& findings, const RankTimes& times, std::size_t steps) {
  if (times.strategy == "dp")
    return "DataParallel is one process. Its replicas are lanes of one rank, so ranks cannot be compared.";
  if (times.hosts.empty()) return "No step was recorded here, so ranks cannot be compared.";
  if (times.hosts.size() < 2)
    return findings.missing.empty() ? "There is only one rank, so ranks cannot be compared."
                                    : "Only one rank recorded steps, so ranks cannot be compared.";
  if (steps == 0) return "No measured step was recorded by every rank, so ranks cannot be compared.";
  std::string text;
  for (const RankEvidence& evidence : findings.ranks)
    if (evidence.named()) text += (text.empty() ? "" : " ") + evidence.text();
  if (!text.empty()) return text;
  const auto most = std::max_element(findings.ranks.begin(), findings.ranks.end(),
                                     [](const auto& a, const auto& b) { return a.last_in_steps < b.last_in_steps; });
  // Chance alone makes one rank last in every step of so few steps.
  if (most->steps > 0 && most->last_p >= finding_p_most &&
      !can_find_last(static_cast<std::int64_t>(steps), times.hosts.size())) {
    text = fmt::format("{} cannot show a straggler: even a rank that is last in every step may be so by chance. ",
                       steps == 1 ? std::string("One step") : fmt::format("{} steps", steps));
    const Arrivals of = most_arrivals(findings);
    if (of.collectives > 0)
      return text +
             fmt::format("Rank {} came last most often: in {} of {} collectives.", of.rank, of.last, of.collectives);
    return text + fmt::format("Rank {} came last most often: in {} of {} steps.", most->rank, most->last_in_steps,
                              most->steps);
  }
  text = "No straggler: ";
  if (most->steps == 0) {
    const bool waited = std::ranges::any_of(times.steps, [](const RankStep& step) { return step.skew_s > 0.0; });
    return text + (waited ? "in each step all ranks waited equally long."
                          : "no collective was matched over the ranks, or no rank waited in a collective.");
  }
  text += fmt::format("the rank that is last most often, {}, is last in {} of {} steps", most->rank,
                      most->last_in_steps, most->steps);
  if (most->last_p < finding_p_most)
    text += fmt::format(" ({}), but this costs the other ranks only {} of the step", units::chance(most->last_p),
                        units::percent(most->lost_share));
  else
    text += fmt::format(", which is expected by chance with {} ranks ({})", times.hosts.size(),
                        units::chance(most->last_p));
  return text + fmt::format(", and no rank's compute is significantly ({:g} % or more) longer than that of the others.",
                            100.0 * finding_compute_least);
}

}  // namespace

RankFindings find_stragglers(const RankTimes& times) {
  RankFindings findings;
  const StepRows rows = complete_steps(times);
  std::vector<double> durations;
  for (const auto& [step, ranks] : rows)
    for (const auto& [rank, row] : ranks) durations.push_back(row->step_s);
  const double median_step_s = durations.empty() ? 0.0 : stats::median(durations);
  for (const auto& [rank, host] : times.hosts) {
    RankEvidence evidence;
    evidence.rank = rank;
    evidence.host = host;
    if (times.hosts.size() > 1 && !rows.empty()) {
      judge_waiting(evidence, times, rows, median_step_s);
      judge_parts(evidence, rows, median_step_s);
      evidence.of_its_host = host_disturbances(times, host);
    }
    findings.ranks.push_back(std::move(evidence));
  }
  findings.slow_steps = find_slow_steps(rows);
  if (times.strategy == "ddp")
    for (std::int64_t rank = 0; rank < times.workers; ++rank)
      if (!times.hosts.contains(rank)) findings.missing.push_back(rank);
  findings.summary = summary_of(findings, times, rows.size()) +
                     (times.hosts.empty() ? std::string() : missing_text(findings, times.workers));
  return findings;
}

}  // namespace ddpprof::metrics
