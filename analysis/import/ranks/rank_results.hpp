// What the ranks of a measurement wrote when they ended, read back: facts for the measurement's row, and checks.
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
  std::map<std::int64_t, nlohmann::json> by_rank;  // ranks that did not get to the end are missing
  std::vector<std::string> problems;               // a file that is there and cannot be read
};

// `trained`: or timed all-reduces. Every result that is given holds what wrong_fact (result_facts.hpp) asks for.
RankResults read_rank_results(const std::filesystem::path& folder, std::int64_t processes, bool trained);

// Model size, versions and backend as the ranks found them; left alone where no rank ended.
void describe(const RankResults& results, store::MeasurementRow& row);

// What the ranks themselves warn of; a warning that several ranks give is one diagnostic, counted.
std::vector<store::DiagnosticRow> rank_warnings(const RankResults& results);

// What each rank's process and devices took; ranks that did not get to the end are missing.
std::vector<store::MemoryRow> memory_rows(const RankResults& results);

// One diagnostic if the ranks' parameters differ after training: DDP promises that they do not.
std::vector<store::DiagnosticRow> check_parameters(const RankResults& results);

// One diagnostic if the warm-up was to end by itself and had not when its steps ran out.
std::vector<store::DiagnosticRow> check_warmup(const RankResults& results);

}  // namespace ddpprof::ranks
