#include "analysis/fit/table/nccl_tests.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <fstream>
#include <optional>
#include <set>
#include <string_view>

#include "simulator/stats/summary.hpp"

namespace ddpprof::fit {
namespace {

constexpr std::size_t most_bytes = 16 << 20;

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  while (true) {
    const std::size_t begin = line.find_first_not_of(" \t\r");
    if (begin == std::string_view::npos) return words;
    const std::size_t end = line.find_first_of(" \t\r", begin);
    words.push_back(line.substr(begin, end - begin));
    if (end == std::string_view::npos) return words;
    line.remove_prefix(end);
  }
}

template <class T>
std::optional<T> number(std::string_view word) {
  T value{};
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return value;
}

// Removes a launcher's tag, which ends in a colon and comes first.
void drop_tag(std::vector<std::string_view>& words) {
  if (!words.empty() && words.front().ends_with(':') && words.front() != ":") words.erase(words.begin());
}

struct Timing {
  double time_s, bus_factor;       // as in NcclTestsRow
  double factor_low, factor_high;  // within the rounding of both bandwidths
};

// Reads time [us], algbw and busbw [GB/s] from word `at` on; returns nothing if they do not agree. Bandwidths are
// printed with two decimals.
std::optional<Timing> timing(const std::vector<std::string_view>& words, std::size_t at, std::int64_t bytes) {
  if (at + 3 > words.size()) return std::nullopt;
  const auto time_us = number<double>(words[at]), algbw = number<double>(words[at + 1]),
             busbw = number<double>(words[at + 2]);
  constexpr double a_nanosecond_us = 1e-3, longest_us = 1e12;
  if (!time_us || !algbw || !busbw || !std::isfinite(*algbw) || !std::isfinite(*busbw)) return std::nullopt;
  if (!(*time_us >= a_nanosecond_us) || !(*time_us <= longest_us)) return std::nullopt;
  const double expected = static_cast<double>(bytes) / *time_us * 1e-3;
  if (std::abs(expected - *algbw) > 0.0051 + 0.02 * expected) return std::nullopt;
  constexpr double half = 0.005;
  if (*algbw < 1.0) return Timing{*time_us * 1e-6, 0.0, 0.0, 0.0};
  return Timing{*time_us * 1e-6, *busbw / *algbw, (*busbw - half) / (*algbw + half), (*busbw + half) / (*algbw - half)};
}

std::optional<NcclTestsRow> row_of(const std::vector<std::string_view>& words, std::int64_t bytes) {
  // After size, count and type come the operation and the root, if this test prints them.
  std::size_t at = 3;
  if (at < words.size() && !number<double>(words[at])) ++at;
  NcclTestsRow row;
  row.bytes = bytes;
  for (const std::size_t first : {at, at + 1}) {
    const auto out_of_place = timing(words, first, bytes);
    if (!out_of_place) continue;
    row.out_of_place_s = out_of_place->time_s;
    row.bus_factor = out_of_place->bus_factor;
    row.bus_factor_low = out_of_place->factor_low;
    row.bus_factor_high = out_of_place->factor_high;
    // The count of wrong values comes between, if it was checked.
    for (const std::size_t second : {first + 4, first + 3}) {
      if (const auto in_place = timing(words, second, bytes)) {
        row.in_place_s = in_place->time_s;
        break;
      }
    }
    return row;
  }
  return std::nullopt;
}

}  // namespace

NcclTestsLog read_nccl_tests(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw NcclTestsError(path.string() + ": cannot be read; expected the output of nccl-tests");
  NcclTestsLog log;
  std::set<std::int64_t> ranks;
  std::set<std::string, std::less<>> hosts;
  std::string line;
  std::size_t number_of_line = 0, read = 0;
  std::vector<double> bus_factors;
  while (std::getline(file, line)) {
    ++number_of_line;
    read += line.size() + 1;
    if (read > most_bytes)
      throw NcclTestsError(path.string() + ": is larger than 16 MiB; expected the output of nccl-tests");
    auto words = words_of(line);
    drop_tag(words);
    if (words.empty()) continue;
    if (words.front() == "#") {
      // "# Rank 3 Group 0 Pid 4711 on node-1 device 3 …"
      if (words.size() < 3 || words[1] != "Rank") continue;
      if (const auto rank = number<std::int64_t>(words[2])) ranks.insert(*rank);
      for (std::size_t i = 3; i + 1 < words.size(); ++i)
        if (words[i] == "on") hosts.emplace(words[i + 1]);
      continue;
    }
    if (words.size() < 6) continue;
    const auto bytes = number<std::int64_t>(words[0]), count = number<std::int64_t>(words[1]);
    if (!bytes || !count || *bytes <= 0 || *count < 0 || number<double>(words[2])) continue;
    const auto row = row_of(words, *bytes);
    if (!row)
      throw NcclTestsError(path.string() + ":" + std::to_string(number_of_line) + ": the time and the bandwidth of " +
                           std::string(words[0].substr(0, 24)) +
                           " bytes do not agree; expected size, count, type, [operation, root,] time in us, algbw "
                           "and busbw in GB/s");
    if (log.type.empty()) {
      log.type = std::string(words[2].substr(0, 24));
      if (!number<double>(words[3])) log.operation = std::string(words[3].substr(0, 24));
    }
    if (row->bus_factor > 0.0) {
      bus_factors.push_back(row->bus_factor);
      log.bus_factor_low = std::max(log.bus_factor_low, row->bus_factor_low);
      log.bus_factor_high =
          log.bus_factor_high > 0.0 ? std::min(log.bus_factor_high, row->bus_factor_high) : row->bus_factor_high;
    }
    log.rows.push_back(*row);
  }
  if (log.rows.empty())
    throw NcclTestsError(path.string() +
                         ": contains no line with a message size; expected lines as all_reduce_perf prints them");
  if (!bus_factors.empty()) log.bus_factor = stats::median(bus_factors);
  log.ranks = static_cast<std::int64_t>(ranks.size());
  log.hosts = static_cast<std::int64_t>(hosts.size());
  return log;
}

std::optional<std::int64_t> ranks_of(const NcclTestsLog& log) {
  if (log.ranks > 0) return log.ranks;
  // 2 (N-1)/N = f gives N = 2 / (2 - f). N is known if exactly one whole number lies between the ends.
  if (!(log.bus_factor_low > 0.0) || !(log.bus_factor_low <= log.bus_factor_high) || !(log.bus_factor_high < 2.0))
    return std::nullopt;
  const double low = std::ceil(2.0 / (2.0 - log.bus_factor_low)), high = std::floor(2.0 / (2.0 - log.bus_factor_high));
  if (low != high || low < 3.0) return std::nullopt;  // busbw = algbw is also what a reduce of any number prints
  return static_cast<std::int64_t>(low);
}

std::optional<Refusal> all_reduce_refusal(const NcclTestsLog& log, std::int64_t ranks) {
  if (log.operation == "none") return Refusal{"these are not all-reduces: the log's operation is \"none\""};
  // The other tests of nccl-tests have a lower bus bandwidth.
  const double ring = 2.0 * static_cast<double>(ranks - 1) / static_cast<double>(ranks);
  if (log.bus_factor > 0.0 && std::abs(log.bus_factor / ring - 1.0) > 0.03)
    return Refusal{"these are not all-reduces: busbw is not 2 (N-1)/N times algbw, with N = " + std::to_string(ranks)};
  return std::nullopt;
}

}  // namespace ddpprof::fit
