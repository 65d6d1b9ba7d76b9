// The one form of an error, and the small parsers that share it.
#include <algorithm>
#include <charconv>
#include <cstddef>

#include "cli/subcommand.hpp"

namespace ddpprof::cli {
namespace {

// Optimal string alignment distance: insertions, deletions, substitutions and swaps of neighbours.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
      }
    }
  }
  return d[a.size()][b.size()];
}

}  // namespace

Failure::Failure(ExitCode code, const std::string& wrong, std::string expected, std::string remedy)
    : std::runtime_error(wrong), code_(code), expected_(std::move(expected)), remedy_(std::move(remedy)) {}

std::string Failure::text() const {
  std::string text = what();
  if (!expected_.empty()) text += " (expected " + expected_ + ")";
  if (!remedy_.empty()) text += "; " + remedy_;
  return text;
}

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t d = distance(word, candidate);
    if (d < best_distance) {
      best = candidate;
      best_distance = d;
    }
  }
  if (!best.empty() || word.size() < 3) return best;
  for (const std::string& candidate : candidates) {  // an unfinished word: "--form" for "--format"
    if (candidate.starts_with(word)) return candidate;
  }
  return best;
}

std::vector<long long> parse_worker_list(const std::string& text, const std::string& option) {
  std::vector<long long> workers;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    const std::string part = text.substr(begin, comma - begin);
    long long value = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    if (error != std::errc() || end != part.data() + part.size() || value < 1 || value > 1'000'000) {
      throw Failure(ExitCode::usage, option + ": '" + part + "' is not a number of workers",
                    "whole numbers from 1 to 1000000 separated by commas, e.g. 8,64", "correct the list");
    }
    workers.push_back(value);
    begin = comma + 1;
  }
  std::sort(workers.begin(), workers.end());
  workers.erase(std::unique(workers.begin(), workers.end()), workers.end());
  return workers;
}

}  // namespace ddpprof::cli
