// Groups the records of single ranks into runs, finds missing ranks, and checks that the runs fit into one database.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/import/ranks/measurement_setup.hpp"
#include "analysis/import/ranks/rank_folder.hpp"
#include "runner/scenario/scenario.hpp"

namespace ddpprof::ranks {

struct RankRun {
  std::vector<RankRecord> ranks;         // ordered by rank
  scenario::Scenario scenario;           // what they trained
  std::vector<std::string> missing;      // a sentence for each rank that is missing or did not reach its end
  std::vector<std::string> differences;  // versions that differ from the first run's

  bool bench_comm() const;   // true: the ranks timed all-reduces and trained nothing
  bool without_ddp() const;  // true: one process without process group and Reducer
  std::int64_t processes() const { return ranks.front().world_size(); }
  std::int64_t workers() const;
};

// Returns the runs ordered by strategy, workers and start. Throws InvalidRecords if
// - a rank occurs twice,
// - a rank never met the others (with `partial`: it is left out and named in `notes`),
// - ranks are missing (with `partial`: they are named in `missing`),
// - runs have different scenarios.
std::vector<RankRun> group_runs(std::vector<RankRecord> records, bool partial, std::vector<std::string>& notes);

// Returns the workload that the runs have in common, with all their strategies and worker counts.
scenario::Scenario common_scenario(const std::vector<RankRun>& runs);

// The arguments of record_measurement(): how the run was measured, without its repeat and scenario_id, and what its
// ranks left.
MeasurementSetup setup_of(const RankRun& run, const scenario::Scenario& common);
Recorded recorded_of(const RankRun& run);

}  // namespace ddpprof::ranks
