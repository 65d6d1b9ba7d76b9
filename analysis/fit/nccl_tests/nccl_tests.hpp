// Reads the output of nccl-tests (all_reduce_perf and similar programs): text, or the JSON file of option -J.
//
// A log has one run for each start of a program. Each run has a heading, and one row of times for each message size.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "analysis/fit/nccl_tests/nccl_row.hpp"

namespace ddpprof::fit {

// A doubt about a run: the row of the table `diagnostic`.
struct NcclTestsWarning {
  std::string code, message, advice;
};

struct NcclTestsRun {
  std::string collective;             // "all_reduce" of all_reduce_perf; empty: not printed (before nccl-tests 2.17)
  std::int64_t ranks = 0, hosts = 0;  // of one group, from the lines "Rank … on HOST"; 0: no such lines
  std::vector<std::string> host_names;
  std::int64_t groups = 1;      // communicators that ran at the same time (NCCL_TESTS_SPLIT)
  std::int64_t copies = 1;      // how often each rank appears: above 1, several programs ran without MPI
  bool cpu_times = false;       // the column is "cputime": how long the call took (-C 1)
  std::string type;             // of the elements, as printed: "float"
  std::string operation;        // of the reduction: "sum"; "none" or empty without a reduction
  std::int64_t root = -1;       // -1: no root, or not printed
  double bus_factor = 0.0;      // median over the rows; 0 if no row has it
  double bus_factor_low = 0.0;  // range that agrees with every row's rounding; 0 if no row has it
  double bus_factor_high = 0.0;
  std::vector<NcclTestsRow> rows;  // in the order of the file, sizes of 0 bytes left out
  std::vector<NcclTestsWarning> warnings;
};

// "FILE:LINE: what is wrong; what was expected".
class NcclTestsError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Returns the runs that have rows, in the order of the file. Other lines are skipped, and text before nccl-tests' own
// is removed (nccl_line.hpp). A row that is incomplete is left out, with a warning. A row whose time does not agree
// with its bandwidth is an error. Throws NcclTestsError for a file that cannot be read, is larger than 16 MiB, or has
// no row.
std::vector<NcclTestsRun> read_nccl_tests(const std::filesystem::path& path);

// Returns the number of ranks: from the lines "Rank … on HOST", else from busbw = 2 (N-1)/N algbw if the decimals
// determine N and N >= 3, else nothing.
std::optional<std::int64_t> ranks_of(const NcclTestsRun&);

}  // namespace ddpprof::fit
