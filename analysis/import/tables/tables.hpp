// Tables into a trace database: step times of a CSV, and all-reduces as nccl-tests printed them.
//
// A table of steps becomes a training of each placement (workers, nodes, devices of a node, batch, micro-batches),
// whose measured steps are its rows; fit::stored_steps gives the rows back in their order. A log becomes a sweep of
// collectives, whose even iterations are out of place and odd ones in place; predictions take its times in the place of
// fitted links.
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

// A table that a database cannot hold.
class TableError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// `model`: what the trainings are called. One transaction. Returns how many placements there are. Throws TableError for
// steps below a microsecond, store::DatabaseError.
std::int64_t import_step_table(store::Database&, const std::vector<fit::StepRow>& rows, const std::string& model);

// A log that lacks something: "FILE: what is missing; what to give".
class LogError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct LogPlace {
  std::optional<std::int64_t> ranks;  // where the log has no "Rank" lines and its bandwidths do not tell
  std::optional<std::int64_t> nodes;  // where it has none; else 1
};

// Returns how many ranks took part. Throws LogError where that cannot be known, or where these are no all-reduces of 2
// ranks or more; store::DatabaseError.
std::int64_t import_nccl_log(store::Database&, const fit::NcclTestsLog&, const std::filesystem::path& file,
                             const LogPlace&);

}  // namespace ddpprof::import
