// Reads the results that ranks write when they end: facts for the measurement's row, and checks.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tracer/store/rows/run_rows.hpp"

namespace ddpprof::ranks {

struct RankResults {
  std::map<std::int64_t, nlohmann::json> by_rank;  // ranks that did not reach their end are missing
  std::vector<std::string> problems;               // files that exist and are invalid
};

// `trained`: false for ranks that timed all-reduces. Every returned result has passed wrong_fact() (result_facts.hpp).
RankResults read_rank_results(const std::filesystem::path& folder, std::int64_t processes, bool trained);

// Fills in model size, versions, hosts and options from the results. Does nothing without a result.
void describe(const RankResults& results, store::MeasurementRow& row);

// The ranks' own warnings. The same warning of several ranks is one diagnostic with their count.
std::vector<store::DiagnosticRow> rank_warnings(const RankResults& results);

// Memory of each rank's process and devices. Ranks that did not reach their end are missing.
std::vector<store::MemoryRow> memory_rows(const RankResults& results);

// Returns one diagnostic if the ranks' parameters differ after training; DDP keeps them equal.
std::vector<store::DiagnosticRow> check_parameters(const RankResults& results);

// Returns one diagnostic if an automatic warm-up reached its limit before step times were stable.
std::vector<store::DiagnosticRow> check_warmup(const RankResults& results);

}  // namespace ddpprof::ranks
