// Imports tables into a trace database: step times from a CSV file, and collectives from the output of nccl-tests.
//
// A table of steps becomes one training for each placement (workers, nodes, devices of a node, batch, micro-batches).
// Its measured steps are the table's rows; fit::stored_steps returns the rows in their order. Each run of a log becomes
// a sweep of collectives: even iterations are out of place, odd iterations in place. Predictions use the times of
// all-reduces instead of fitted links.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "analysis/fit/nccl_tests/all_reduce_log.hpp"
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

// Thrown if a log contradicts an option. The message is "FILE: what is wrong; what to do".
class LogError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct LogPlace {
  std::optional<std::int64_t> nodes;  // used if the log does not name its hosts; default 1
};

// Imports each run as a sweep. Warnings become diagnostics. Returns the number of sweeps. Throws LogError if a sweep
// has fewer ranks than --nodes; store::DatabaseError.
std::int64_t import_nccl_log(store::Database&, const fit::AllReduceLog&, const std::filesystem::path& file,
                             const LogPlace&);

}  // namespace ddpprof::import
