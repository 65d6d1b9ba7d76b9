// Reads a table of step times: comma-separated values with the names of the columns in the first line.
#pragma once

#include <filesystem>
#include <stdexcept>
#include <vector>

#include "analysis/fit/table/step_table.hpp"

namespace ddpprof::fit {

// "FILE:LINE: what is wrong; what was expected".
class CsvError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Columns workers, nodes, batch_per_worker, step_time_s (seconds), and optionally devices_per_node, accumulation,
// sync_time_s and strategy, in any order; one row per measurement. An empty optional cell is unknown. Lines that begin
// with #, empty lines and empty columns at the end are ignored. Throws CsvError for a file that cannot be read, is
// larger than 16 MiB or holds more than 20,000 rows, for a column that is missing, twice or unknown, and for the first
// cell that is not a number in its range or a known strategy.
std::vector<StepRow> read_step_csv(const std::filesystem::path& path);

// Returns true if the file begins like such a table, that is with text, and is not a database. Returns false for a file
// that cannot be read.
bool looks_like_csv(const std::filesystem::path& path);

}  // namespace ddpprof::fit
