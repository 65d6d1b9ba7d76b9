// The ranks of one measurement as tables: medians by rank, all steps, named ranks with the evidence, slow steps.
#pragma once

#include "analysis/metrics/ranks/rank_findings.hpp"
#include "analysis/metrics/ranks/ranks.hpp"
#include "analysis/report/core/table.hpp"

namespace ddpprof::report {

// Medians over the measured steps of this repeat. Step, compute, against the mean, waits and slowest follow the rules
// of report `skew`, which pools the repeats of a configuration; with one repeat the values are equal.
Table ranks_table(const metrics::RankTimes&);
Table rank_steps_table(const metrics::RankTimes&);        // one row per rank and step
Table step_percentiles_table(const metrics::RankTimes&);  // of the measured steps: all ranks together, and each rank
Table stragglers_table(const metrics::RankTimes&, const metrics::RankFindings&);
Table slow_steps_table(const metrics::RankFindings&);

}  // namespace ddpprof::report
