// Stragglers and slow steps of one measurement, each with its evidence. Results that chance explains are not reported.
//
// A rank is a straggler if
// - it waits least in significantly more steps than expected by chance (exact binomial test over the effective number
// of
//   steps, against 1/N, or k/N if k ranks wait equally little), and
// - the other ranks lose at least 1 % of the step by it.
// A rank whose compute is at least 2 % longer than the median of the others (sign test of the difference in each step,
// over blocks of steps) is also named, even if no rank waits for it. Every test is made for each rank that recorded
// steps, so p-values are multiplied by the number of ranks (Bonferroni). DDP ranks without steps are listed as missing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/metrics/ranks/ranks.hpp"

namespace ddpprof::metrics {

inline constexpr double finding_p_most = 0.01;         // after Bonferroni
inline constexpr double finding_wait_least = 0.01;     // share of the step that the other ranks lose
inline constexpr double finding_compute_least = 0.02;  // relative to the compute of the other ranks

struct RankEvidence {
  std::int64_t rank = 0;
  std::string host;
  bool keeps_waiting = false, computes_longer = false, waits_for_input = false;  // significant and not below its limit
  std::int64_t collectives = 0, arrives_last = 0;                                // in measured steps
  double kept_waiting_s = 0;  // median wait of the others, then median over the collectives in which this rank is last
  std::int64_t steps = 0, last_in_steps = 0;
  double lost_share = 0;  // mean exposed wait of the others in steps in which it is last / median step
  double last_p = 1;
  double compute_excess = 0;  // compute / median of the others − 1, median over the steps
  double compute_p = 1;
  // Steps that every rank recorded, and those in which its compute exceeds the median of the others.
  std::int64_t compared_steps = 0, computed_longer_in = 0;
  double input_excess_s = 0, input_p = 1;
  std::vector<std::string> of_its_host;  // complete sentences

  bool named() const { return keeps_waiting || computes_longer; }
  std::string text() const;  // the evidence as sentences
};

struct SlowStep {
  std::int64_t step = 0;
  double step_s = 0, excess_s = 0;  // mean over the ranks; difference from the median step
  RankPart part = RankPart::other;  // the part that grew most
  double part_excess_s = 0;
  std::int64_t slowest_rank = 0;  // the rank whose compute exceeds its own median most
  double slowest_excess_s = 0;
};

struct RankFindings {
  std::vector<RankEvidence> ranks;    // all ranks that recorded steps
  std::vector<std::int64_t> missing;  // DDP ranks without steps (import --partial)
  std::vector<SlowStep> slow_steps;
  std::string summary;  // sentences: the named ranks or why no rank is named, and the missing ranks
};

RankFindings find_stragglers(const RankTimes&);

}  // namespace ddpprof::metrics
