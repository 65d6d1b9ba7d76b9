// Imports tables into a trace database: step times from a CSV file, and all-reduces from the output of nccl-tests.
//
// A table of steps becomes one training for each placement (workers, nodes, devices of a node, batch, micro-batches).
// Its measured steps are the table's rows; fit::stored_steps returns the rows in their order. A log becomes a sweep of
// collectives: even iterations are out of place, odd iterations in place. Predictions use its times instead of fitted
// links.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "analysis/fit/table/nccl_tests.hpp"
#include "analysis/fit/table/step_table.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof::import {

// Thrown for a table that a database cannot hold.
class TableError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Imports the rows in one transaction. `model` is the name of the trainings. Returns the number of placements. Throws
// TableError if a step is shorter than a microsecond, store::DatabaseError.
std::int64_t import_step_table(store::Database&, const std::vector<fit::StepRow>& rows, const std::string& model);

// Thrown if a log is incomplete. The message is "FILE: what is missing; what to give".
class LogError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct LogPlace {
  std::optional<std::int64_t> ranks;  // needed if the log has no "Rank" lines and its bandwidths do not determine them
  std::optional<std::int64_t> nodes;  // needed if the log has none; default 1
};

// Returns the number of ranks. Throws LogError if it cannot be determined, or if the log does not hold all-reduces of
// at least 2 ranks; store::DatabaseError.
std::int64_t import_nccl_log(store::Database&, const fit::NcclTestsLog&, const std::filesystem::path& file,
                             const LogPlace&);

}  // namespace ddpprof::import
