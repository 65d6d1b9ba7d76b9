// Reads one row of nccl-tests: size, count, type, [operation, root,] then time, algbw, busbw and wrong values twice.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ddpprof::fit {

struct NcclTestsRow {
  std::int64_t bytes = 0;
  double out_of_place_s = 0.0;
  double in_place_s = 0.0;                             // 0: not printed
  double bus_factor = 0.0;                             // busbw over algbw; 0 if two decimals are too few to compute it
  double bus_factor_low = 0.0, bus_factor_high = 0.0;  // … within their rounding
  std::string type{};                                  // of the elements, as printed: "float"
  std::string operation{};                             // of the reduction: "sum"; "none" or empty without a reduction
};

// The first columns of a row, which nccl-tests prints before it measures.
struct NcclRowStart {
  std::int64_t bytes = 0;
  std::string type, operation;
  std::optional<std::int64_t> root;  // as printed; -1 if this collective has no root
};

struct NcclRow {
  NcclRowStart start;
  std::optional<NcclTestsRow> times;  // empty: the row is incomplete
  bool disagrees = false;             // the row is complete, and its time does not agree with its bandwidth
  bool count_above_0 = false;         // the word after a busbw is 1 or more: wrong values, if there is such a column
  std::size_t columns = 0;            // words of the row up to the first that is neither number nor "N/A"
};

// Returns nothing if these are not the words of a row, or if the size is 0.
std::optional<NcclRow> nccl_row(const std::vector<std::string_view>& words);

// Returns the times of a row whose first columns are on an earlier line: another program's output was printed between.
std::optional<NcclTestsRow> nccl_row_end(const std::vector<std::string_view>& words, std::int64_t bytes);

}  // namespace ddpprof::fit
