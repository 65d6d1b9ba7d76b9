// The evidence about a rank as sentences.
#include <fmt/format.h>

#include "analysis/metrics/ranks/rank_findings.hpp"
#include "simulator/units/units.hpp"

namespace ddpprof::metrics {

std::string RankEvidence::text() const {
  const std::string who = host.empty() ? fmt::format("Rank {}", rank) : fmt::format("Rank {} ({})", rank, host);
  std::string said;
  if (keeps_waiting) {
    said = who + " makes the other ranks wait: ";
    if (arrives_last > 0) {
      said += fmt::format("it arrives last in {} of {} collectives, by {} (median); ",
                          units::percent(static_cast<double>(arrives_last) / static_cast<double>(collectives)),
                          collectives, units::format_quantity(kept_waiting_s, "s", 2));
    }
    said += fmt::format("it is last in {} of {} steps ({}), which costs the other ranks {} of the step", last_in_steps,
                        steps, units::chance(last_p), units::percent(lost_share));
    if (computes_longer) {
      said += fmt::format("; its compute is {} longer than the median of the other ranks ({})",
                          units::percent(compute_excess), units::chance(compute_p));
    }
    if (waits_for_input) {
      said += fmt::format("; it waits {} longer for its input ({})", units::format_quantity(input_excess_s, "s", 2),
                          units::chance(input_p));
    }
    // In nearly all steps, and by enough to explain at least half of the wait.
    const bool longer_without_proof = !computes_longer && compute_excess >= finding_compute_least &&
                                      10 * computed_longer_in >= 9 * compared_steps &&
                                      compute_excess >= 0.5 * lost_share;
    if (longer_without_proof) {
      said += fmt::format(
          "; its compute is {} longer than the median of the other ranks, and longer in {} of {} steps, but these are "
          "too few independent steps to exclude chance ({}): profile more steps",
          units::percent(compute_excess), computed_longer_in, compared_steps, units::chance(compute_p));
    }
    if (!computes_longer && !waits_for_input && !longer_without_proof) {
      said += fmt::format(
          "; neither its compute (limit: {:g} % longer) nor its wait for input (limit: {:g} % of the step longer) is "
          "significantly longer; check its host and its network",
          100.0 * finding_compute_least, 100.0 * finding_wait_least);
    }
  } else {
    said = fmt::format(
        "{} computes {} longer than the median of the other ranks ({}); no significant wait of the other ranks for it "
        "was found (limit: {:g} % of the step)",
        who, units::percent(compute_excess), units::chance(compute_p), 100.0 * finding_wait_least);
  }
  said += ".";
  for (const std::string& sentence : of_its_host) said += " " + sentence;
  return said;
}

}  // namespace ddpprof::metrics
