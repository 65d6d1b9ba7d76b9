// Reads what nccl-tests prints (all_reduce_perf and its like): a line of times for each message size.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace ddpprof::fit {

struct NcclTestsRow {
  std::int64_t bytes = 0;
  double out_of_place_s = 0.0;
  double in_place_s = 0.0;  // 0: not printed
  double bus_factor = 0.0;  // busbw over algbw; 0 where their two decimals are too few to tell
  double bus_factor_low = 0.0, bus_factor_high = 0.0;  // … within their rounding
};

struct NcclTestsLog {
  std::int64_t ranks = 0, hosts = 0;  // from its "Rank … on HOST" lines; 0: it has none
  std::string type;                   // of the elements, as printed: "float"
  std::string operation;              // of the reduction: "sum"; "none" or empty where there is none
  double bus_factor = 0.0;            // median over the rows; 0 where none tells
  double bus_factor_low = 0.0;        // what every row's rounding leaves possible; 0 where none tells
  double bus_factor_high = 0.0;
  std::vector<NcclTestsRow> rows;  // in the order of the file, sizes of 0 bytes left out
};

// "FILE:LINE: what is wrong; what was expected".
class NcclTestsError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Lines may begin with a launcher's tag ("0: ", "[1,0]<stdout>: "); lines that are no sizes are passed over, a size
// whose time does not fit its bandwidth is an error. Throws NcclTestsError for a file that cannot be read, is larger
// than 16 MiB, or holds no size.
NcclTestsLog read_nccl_tests(const std::filesystem::path& path);

// How many ranks took part in these all-reduces: as its lines say, else from busbw = 2 (N-1)/N algbw where their
// decimals tell N >= 3 from its neighbours; none otherwise.
std::optional<std::int64_t> ranks_of(const NcclTestsLog& log);

// Why these cannot be all-reduces of so many ranks: nothing is reduced, or busbw is not what it is for them. Empty
// where they can.
std::string not_all_reduces(const NcclTestsLog& log, std::int64_t ranks);

}  // namespace ddpprof::fit
