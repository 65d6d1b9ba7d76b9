// Stragglers and slow steps of one measurement, each with its evidence; none where chance explains what was seen.
//
// A rank is a straggler when it is the one that waits least in significantly more steps than its share (exact binomial
// test against 1/N, over as many steps as the series is worth), and the others lose more than 1 % of the step by it.
// A rank whose compute is 2 % longer than the others' median or more (sign test of the difference step by step, over
// blocks of steps) is named as well, whether anybody waits for it or not. Every test is made of each rank that recorded
// steps: p-values count as many times (Bonferroni). Ranks of DDP that recorded none are listed as missing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/metrics/ranks.hpp"

namespace ddpprof::metrics {

inline constexpr double finding_p_most = 0.01;         // after Bonferroni
inline constexpr double finding_wait_least = 0.01;     // of the step, that the others lose
inline constexpr double finding_compute_least = 0.02;  // of the others' compute, that a rank's is longer

struct RankEvidence {
  std::int64_t rank = 0;
  std::string host;
  bool keeps_waiting = false, computes_longer = false, waits_for_input = false;  // significant, and worth a name
  std::int64_t collectives = 0, arrives_last = 0;                                // of measured steps
  double kept_waiting_s = 0;  // the others' median wait, median over the collectives in which it came last
  std::int64_t steps = 0, last_in_steps = 0;
  double lost_share = 0;  // of the median step: what the others lose in a step, mean over the steps it is last in
  double last_p = 1;
  double compute_excess = 0;  // its compute over the others' median, median over the steps
  double compute_p = 1;
  double input_excess_s = 0, input_p = 1;
  std::vector<std::string> of_its_host;  // whole sentences

  bool named() const { return keeps_waiting || computes_longer; }
  std::string text() const;  // the evidence in words
};

struct SlowStep {
  std::int64_t step = 0;
  double step_s = 0, excess_s = 0;  // mean over the ranks; above the median step
  RankPart part = RankPart::other;  // that grew most
  double part_excess_s = 0;
  std::int64_t slowest_rank = 0;  // whose compute grew most over its own median
  double slowest_excess_s = 0;
};

struct RankFindings {
  std::vector<RankEvidence> ranks;    // of all that recorded steps
  std::vector<std::int64_t> missing;  // of DDP's ranks, those that recorded none (import --partial)
  std::vector<SlowStep> slow_steps;
  std::string summary;  // in a sentence or more: who is named, or why nobody; who is missing
};

RankFindings find_stragglers(const RankTimes&);

}  // namespace ddpprof::metrics
