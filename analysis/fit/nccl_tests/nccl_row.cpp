#include "analysis/fit/nccl_tests/nccl_row.hpp"

#include <algorithm>
#include <cmath>

#include "analysis/fit/nccl_tests/nccl_line.hpp"

namespace ddpprof::fit {
namespace {

constexpr std::size_t longest_name = 24;  // of a type or operation that is kept

struct Timing {
  double time_s, bus_factor;       // as in NcclTestsRow
  double factor_low, factor_high;  // within the rounding of both bandwidths
};

// Returns half of the last printed digit: 0.005 for "1.69", 0.5 for "12345", 5000 for "1.3e+05".
double rounding(std::string_view word) {
  const std::size_t exponent = word.find_first_of("eE"), point = word.find('.');
  double half = 0.5;
  if (point != std::string_view::npos)
    half *= std::pow(10.0, -static_cast<double>(std::min(exponent, word.size()) - point - 1));
  if (exponent == std::string_view::npos) return half;
  std::string_view power = word.substr(exponent + 1);
  if (power.starts_with('+')) power.remove_prefix(1);
  return half * std::pow(10.0, number_of<int>(power).value_or(0));
}

// Reads time [us], algbw and busbw [GB/s] from word `at` on; returns nothing if they do not agree. Bandwidths are
// printed with two decimals, and large ones with fewer.
std::optional<Timing> timing(const std::vector<std::string_view>& words, std::size_t at, std::int64_t bytes) {
  if (at + 3 > words.size()) return std::nullopt;
  const auto time_us = number_of<double>(words[at]), algbw = number_of<double>(words[at + 1]),
             busbw = number_of<double>(words[at + 2]);
  constexpr double a_nanosecond_us = 1e-3, longest_us = 1e12;
  if (!time_us || !algbw || !busbw || !std::isfinite(*algbw) || !std::isfinite(*busbw)) return std::nullopt;
  if (!(*time_us >= a_nanosecond_us) || !(*time_us <= longest_us)) return std::nullopt;
  const double expected = static_cast<double>(bytes) / *time_us * 1e-3;
  if (std::abs(expected - *algbw) > 0.0051 + 0.02 * expected) return std::nullopt;
  if (*algbw < 1.0) return Timing{*time_us * 1e-6, 0.0, 0.0, 0.0};
  const double bus_half = rounding(words[at + 2]), half = std::min(rounding(words[at + 1]), 0.5 * *algbw);
  return Timing{*time_us * 1e-6, *busbw / *algbw, (*busbw - bus_half) / (*algbw + half),
                (*busbw + bus_half) / (*algbw - half)};
}

struct RowTimes {
  NcclTestsRow row;
  std::size_t in_place_at = 0;  // the word of the time in place; 0: none
};

std::optional<RowTimes> times_at(const std::vector<std::string_view>& words, std::size_t at, std::int64_t bytes) {
  const auto out_of_place = timing(words, at, bytes);
  if (!out_of_place) return std::nullopt;
  RowTimes times;
  NcclTestsRow& row = times.row;
  row.bytes = bytes;
  row.out_of_place_s = out_of_place->time_s;
  row.bus_factor = out_of_place->bus_factor;
  row.bus_factor_low = out_of_place->factor_low;
  row.bus_factor_high = out_of_place->factor_high;
  // Between the two come the count of wrong values, if it was checked, and the four columns of -I.
  for (const std::size_t second : {at + 4, at + 3, at + 8}) {
    if (const auto in_place = timing(words, second, bytes)) {
      row.in_place_s = in_place->time_s;
      times.in_place_at = second;
      break;
    }
  }
  return times;
}

bool is_count(const std::vector<std::string_view>& words, std::size_t at) {
  return at < words.size() && number_of<double>(words[at]).value_or(0.0) >= 1.0;
}

}  // namespace

std::optional<NcclRow> nccl_row(const std::vector<std::string_view>& words) {
  if (words.size() < 3) return std::nullopt;
  const auto bytes = number_of<std::int64_t>(words[0]), count = number_of<std::int64_t>(words[1]);
  if (!bytes || !count || *bytes <= 0 || *count < 0 || number_of<double>(words[2])) return std::nullopt;
  if (!is_nccl_type(words[2]) && words.size() < 6) return std::nullopt;
  NcclRow row;
  row.start.bytes = *bytes;
  row.start.type = std::string(words[2].substr(0, longest_name));
  std::size_t at = 3;
  if (at < words.size() && !number_of<double>(words[at]))
    row.start.operation = std::string(words[at++].substr(0, longest_name));
  row.columns = at;
  while (row.columns < words.size() && (number_of<double>(words[row.columns]) || words[row.columns] == "N/A"))
    ++row.columns;
  for (const std::size_t first : {at, at + 1}) {
    const auto times = times_at(words, first, *bytes);
    if (!times) continue;
    row.times = times->row;
    if (first > at) row.start.root = number_of<std::int64_t>(words[at]);
    row.count_above_0 =
        is_count(words, first + 3) || (times->in_place_at > 0 && is_count(words, times->in_place_at + 3));
    return row;
  }
  // A root and three figures are there, but they do not agree.
  row.disagrees = row.columns >= at + 4;
  if (at < words.size()) row.start.root = number_of<std::int64_t>(words[at]);
  return row;
}

std::optional<NcclTestsRow> nccl_row_end(const std::vector<std::string_view>& words, std::int64_t bytes) {
  for (std::size_t at = 0; at < words.size(); ++at)
    if (const auto times = times_at(words, at, bytes)) return times->row;
  return std::nullopt;
}

}  // namespace ddpprof::fit
