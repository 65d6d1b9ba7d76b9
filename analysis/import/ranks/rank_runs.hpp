// From the files that single ranks left to whole runs: which ranks belong together, which are missing, and whether the
// runs may stand in one database.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/import/ranks/measurement_setup.hpp"
#include "analysis/import/ranks/rank_folder.hpp"
#include "runner/scenario/scenario.hpp"

namespace ddpprof::ranks {

struct RankRun {
  std::vector<RankRecord> ranks;         // of one run, by rank
  scenario::Scenario scenario;           // what they trained
  std::vector<std::string> lacking;      // a sentence for each rank that is missing or did not get to its end
  std::vector<std::string> differences;  // versions that are not the first run's

  bool bench_comm() const;   // all-reduces were timed, nothing trained
  bool without_ddp() const;  // one process, neither process group nor Reducer
  std::int64_t processes() const { return ranks.front().world_size(); }
  std::int64_t workers() const;
};

// Runs in the order of strategy, workers and start. Throws Failure (data): a rank is there twice, ranks never came
// together (with `partial` they are left out and named in `notes`), ranks are missing (with `partial` in `lacking`),
// runs have different scenarios.
std::vector<RankRun> group_runs(std::vector<RankRecord> records, bool partial, std::vector<std::string>& notes);

// The scenario of all runs: their workload, with the strategies and worker counts that are there.
scenario::Scenario common_scenario(const std::vector<RankRun>& runs);

// The arguments of record_measurement(): how the run was measured, without its repeat and scenario_id, and what its
// ranks left.
MeasurementSetup setup_of(const RankRun& run, const scenario::Scenario& common);
Recorded recorded_of(const RankRun& run);

}  // namespace ddpprof::ranks
