// Reads the output of nccl-tests (all_reduce_perf and similar programs): one line of times for each message size.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "analysis/fit/refusal.hpp"

namespace ddpprof::fit {

struct NcclTestsRow {
  std::int64_t bytes = 0;
  double out_of_place_s = 0.0;
  double in_place_s = 0.0;                             // 0: not printed
  double bus_factor = 0.0;                             // busbw over algbw; 0 if two decimals are too few to compute it
  double bus_factor_low = 0.0, bus_factor_high = 0.0;  // … within their rounding
};

struct NcclTestsLog {
  std::int64_t ranks = 0, hosts = 0;  // from the lines "Rank … on HOST"; 0: no such lines
  std::string type;                   // of the elements, as printed: "float"
  std::string operation;              // of the reduction: "sum"; "none" or empty without a reduction
  double bus_factor = 0.0;            // median over the rows; 0 if no row has it
  double bus_factor_low = 0.0;        // range that agrees with every row's rounding; 0 if no row has it
  double bus_factor_high = 0.0;
  std::vector<NcclTestsRow> rows;  // in the order of the file, sizes of 0 bytes left out
};

// "FILE:LINE: what is wrong; what was expected".
class NcclTestsError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Lines may begin with a launcher's tag ("0: ", "[1,0]<stdout>: "). Lines without a size are skipped. A size whose time
// does not agree with its bandwidth is an error. Throws NcclTestsError for a file that cannot be read, is larger than
// 16 MiB, or contains no size.
NcclTestsLog read_nccl_tests(const std::filesystem::path& path);

// Returns the number of ranks: from the lines "Rank … on HOST", else from busbw = 2 (N-1)/N algbw if the decimals
// determine N and N >= 3, else nothing.
std::optional<std::int64_t> ranks_of(const NcclTestsLog& log);

// Returns why these cannot be all-reduces of this number of ranks: no reduction, or a wrong busbw. Empty if they can.
std::optional<Refusal> all_reduce_refusal(const NcclTestsLog& log, std::int64_t ranks);

}  // namespace ddpprof::fit
