// One measurement's ranks as tables: medians by rank, every step, who is named and why, steps that stand out.
#pragma once

#include "analysis/metrics/rank_findings.hpp"
#include "analysis/metrics/ranks.hpp"
#include "analysis/report/core/table.hpp"

namespace ddpprof::report {

// Medians over the measured steps of this repeat; step, compute, against the mean, waits and slowest by the rules of
// report `skew`, which pools the repeats of a configuration: equal to it where there is one.
Table ranks_table(const metrics::RankTimes&);
Table rank_steps_table(const metrics::RankTimes&);  // a row a rank and step
Table stragglers_table(const metrics::RankTimes&, const metrics::RankFindings&);
Table slow_steps_table(const metrics::RankFindings&);

}  // namespace ddpprof::report
