#include "analysis/report/answer/slow_ranks.hpp"

#include <fmt/format.h>

#include <optional>

#include "analysis/metrics/ranks/rank_findings.hpp"
#include "analysis/report/tables/ranks/skew.hpp"
#include "simulator/units/units.hpp"

namespace ddpprof::report {

std::string slow_rank_sentence(const Source& source, const GlanceStep& step) {
  const Table table = straggler_table(source);
  const Row* worst = nullptr;
  double most = 0.0;
  for (const Row& row : table.rows) {
    const double lost = value_of<double>(table, row, "lost_share").value_or(0.0);
    // A rank that only computes longer is in the table, too, although the others do not wait for it.
    const bool by_chance = value_of<double>(table, row, "last_p").value_or(1.0) >= metrics::finding_p_most;
    if (value_of<std::string>(table, row, "strategy") != step.strategy ||
        value_of<std::int64_t>(table, row, "workers") != step.workers || by_chance || !(lost > most))
      continue;
    worst = &row;
    most = lost;
  }
  const std::optional<double> last = worst ? value_of<double>(table, *worst, "last_share") : std::nullopt;
  if (!last || most < metrics::finding_wait_least) return "";
  std::string text = fmt::format(
      "At N = {} rank {} arrives last in {} of the collectives; the other ranks then wait {} of the step",
      step.workers, *value_of<std::int64_t>(table, *worst, "rank"), units::percent(*last, 3), units::percent(most, 3));
  constexpr double rounding = 0.005;
  if (step.skew && most > *step.skew + rounding)
    text += ", partly counted as exposed transfer";
  return text + " (--report skew).";
}

}  // namespace ddpprof::report
