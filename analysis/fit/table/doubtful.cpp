#include "analysis/fit/table/doubtful.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "analysis/fit/table/row_noise.hpp"
#include "analysis/fit/text.hpp"
#include "simulator/stats/summary.hpp"

namespace ddpprof::fit {
namespace {

constexpr double largest_rounding = 1.02;  // published figures are rounded
constexpr double largest_noise = 1.1;      // of a gain that only noise explains
// A rank of more nodes is faster than one of two nodes, which collective libraries treat specially, but not by more.
constexpr double largest_gain_of_two = 2.2;
constexpr double largest_gain = 1.25;  // of a rank otherwise: 1.2 is the most in published tables
constexpr double largest_loss = 8.0, largest_crossing_loss = 50.0;  // between neighbouring N
constexpr double least_power = 0.58, most_power = 1.15;  // of N, of throughputs: 1.5 times for each doubling, or more
constexpr double shorter = 0.9;                          // of a step with a larger batch

struct Placed {  // equal rows
  StepRow row;
  std::vector<double> micro_s;
  double median_s = 0.0;
};

std::vector<Placed> placed(const std::vector<StepRow>& rows) {
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t>, Placed> all;
  for (const StepRow& row : rows) {
    Placed& one = all[{row.workers, row.nodes, row.devices(), row.batch_per_worker, row.accumulation}];
    one.row = row;
    one.micro_s.push_back(row.micro_s());
  }
  std::vector<Placed> list;
  for (auto& [key, one] : all) {
    one.median_s = stats::median(one.micro_s);
    list.push_back(std::move(one));
  }
  return list;
}

// Two rows of which the second has more ranks, on nodes that are not fewer and not less full.
struct Pair {
  const Placed& few;
  const Placed& many;

  // Throughput of a rank of the second row over that of the first.
  double gain() const { return few.median_s / many.median_s; }
};

// Rows of one batch, in the order of their N.
std::vector<std::vector<const Placed*>> rows_by_batch(const std::vector<Placed>& all) {
  std::map<std::int64_t, std::vector<const Placed*>> batches;
  for (const Placed& one : all) batches[one.row.batch_per_worker].push_back(&one);
  std::vector<std::vector<const Placed*>> lists;
  for (auto& [batch, same] : batches) lists.push_back(std::move(same));
  return lists;
}

// Returns true if the rows are a Pair. A rank with more micro-batches per step has rarer updates, so it must be the
// first.
bool are_pair(const StepRow& few, const StepRow& many) {
  return few.workers < many.workers && few.nodes <= many.nodes && few.devices() <= many.devices() &&
         few.accumulation >= many.accumulation;
}

// For each row, the shortest step of the rows after it.
std::vector<double> shortest_after(const std::vector<const Placed*>& same) {
  std::vector<double> shortest(same.size(), std::numeric_limits<double>::infinity());
  for (std::size_t i = same.size() - 1; i > 0; --i) shortest[i - 1] = std::min(shortest[i], same[i]->median_s);
  return shortest;
}

std::string too_good(const std::vector<Placed>& all) {
  std::optional<Pair> worst;
  double most = 1.0;
  for (const std::vector<const Placed*>& same : rows_by_batch(all)) {
    const std::vector<double> shortest = shortest_after(same);
    for (std::size_t i = 0; i < same.size(); ++i) {
      const Placed& few = *same[i];
      const double least = few.row.workers == 1 ? largest_rounding : largest_gain;
      // A long table has too many pairs to look at all of them.
      if (few.median_s / shortest[i] / least <= most) continue;
      for (std::size_t j = i + 1; j < same.size(); ++j) {
        if (!are_pair(few.row, same[j]->row)) continue;
        const Pair one{few, *same[j]};
        const bool of_two = few.row.workers > 1 && few.row.nodes == 2 && one.many.row.nodes > 2;
        const double excess = one.gain() / (of_two ? largest_gain_of_two : least);
        if (excess <= most) continue;
        most = excess;
        worst.emplace(one);
      }
    }
  }
  if (!worst) return "";
  const std::int64_t few = worst->few.row.workers, many = worst->many.row.workers;
  const double ratio = static_cast<double>(many) / static_cast<double>(few);
  const double throughput = worst->gain() * ratio;
  return fmt::format("N = {} has {:.3g} times the throughput of {}, more than {:.3g} times, which {}", many, throughput,
                     few == 1 ? "one worker" : fmt::format("N = {}", few), ratio,
                     worst->gain() > largest_noise
                         ? "cannot be: is batch_per_worker of one rank, step_time_s of one step, and no column "
                           "accumulation missing?"
                         : "only noise explains");
}

// A step that is many times longer than the one before it in the same column of placements.
std::string another_unit(const std::vector<Placed>& all) {
  std::optional<Pair> found;
  for (const std::vector<const Placed*>& same : rows_by_batch(all)) {
    for (std::size_t i = 0; i < same.size() && !found; ++i) {
      std::int64_t nearest = 0;
      for (std::size_t j = i + 1; j < same.size() && !found; ++j) {
        if (!are_pair(same[i]->row, same[j]->row)) continue;
        const Pair one{*same[i], *same[j]};
        if (nearest == 0) nearest = one.many.row.workers;
        if (one.many.row.workers != nearest) break;
        const bool same_links = (one.few.row.nodes > 1) == (one.many.row.nodes > 1);
        if (one.gain() < 1.0 / (same_links ? largest_loss : largest_crossing_loss)) found.emplace(one);
      }
    }
  }
  if (!found) return "";
  return fmt::format("a step of N = {} takes {}, one of N = {} takes {}: one of them may have another unit",
                     found->few.row.workers, time_text(found->few.median_s), found->many.row.workers,
                     time_text(found->many.median_s));
}

// Throughputs that were given as step times grow almost in proportion to N.
std::string throughputs(const std::vector<Placed>& all) {
  std::map<std::int64_t, double> steps;
  for (const Placed& one : all) steps.try_emplace(one.row.workers, one.median_s);
  if (steps.size() < 3 || steps.rbegin()->first < 4 * steps.begin()->first) return "";
  for (auto next = std::next(steps.begin()); next != steps.end(); ++next) {
    const auto before = std::prev(next);
    const double ranks = static_cast<double>(next->first) / static_cast<double>(before->first);
    const double power = std::log(next->second / before->second) / std::log(ranks);
    if (power < least_power || power > most_power) return "";
  }
  return "step times grow almost in proportion to N, as throughputs do: step_time_s is workers × batch_per_worker × "
         "accumulation / samples per second";
}

// Global batches in the column of a worker's batch grow in proportion to N.
std::string global_batches(const std::vector<Placed>& all) {
  std::map<std::int64_t, std::int64_t> batches;
  for (const Placed& one : all)
    if (batches.try_emplace(one.row.workers, one.row.batch_per_worker).first->second != one.row.batch_per_worker)
      return "";
  const auto& [fewest, least] = *batches.begin();
  if (batches.size() < 3) return "";
  for (const auto& [workers, batch] : batches)
    if (batch * fewest != least * workers) return "";
  return "batch_per_worker grows in proportion to N, as the global batch does: it must be the batch of one worker";
}

std::string shorter_with_larger_batch(const std::vector<Placed>& all) {
  // By N and placement: the longest step so far. The rows are in the order of their batches.
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t>, const Placed*> longest;
  for (const Placed& large : all) {
    const auto key = std::tuple(large.row.workers, large.row.nodes, large.row.devices(), large.row.accumulation);
    const Placed*& small = longest.try_emplace(key, &large).first->second;
    if (large.median_s < shorter * small->median_s)
      return fmt::format(
          "a step of N = {} takes {} with a batch of {}, and {} with a larger batch of {}: one of them "
          "is wrong, or of another job",
          small->row.workers, time_text(small->median_s), small->row.batch_per_worker, time_text(large.median_s),
          large.row.batch_per_worker);
    if (large.median_s > small->median_s) small = &large;
  }
  return "";
}

std::string unequal_repeats(const std::vector<Placed>& all) {
  for (const Placed& one : all) {
    const auto [least, most] = std::ranges::minmax(one.micro_s);
    if (most > most_noise_ratio * least)
      return fmt::format(
          "rows of N = {} with the same batch and placement differ from {} to {}: one of them may have "
          "another unit, be a first step, or be of another job",
          one.row.workers, time_text(least), time_text(most));
  }
  return "";
}

}  // namespace

std::vector<std::string> table_doubts(const std::vector<StepRow>& rows) {
  const std::vector<Placed> all = placed(rows);
  std::vector<std::string> doubts;
  for (std::string doubt : {too_good(all), unequal_repeats(all), another_unit(all), throughputs(all),
                            global_batches(all), shorter_with_larger_batch(all)})
    if (!doubt.empty()) doubts.push_back(std::move(doubt));
  return doubts;
}

}  // namespace ddpprof::fit
