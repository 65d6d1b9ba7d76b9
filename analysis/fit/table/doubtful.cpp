#include "analysis/fit/table/doubtful.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "analysis/fit/text.hpp"
#include "simulator/stats/summary.hpp"

namespace ddpprof::fit {
namespace {

constexpr double rounding = 1.02;      // published figures are rounded
constexpr double repeats_ratio = 3.0;  // the largest of equal rows over the smallest

struct Placed {  // equal rows
  StepRow row;
  std::vector<double> micro_s;
  double median_s() const { return stats::median(micro_s); }
};

std::vector<Placed> placed(const std::vector<StepRow>& rows) {
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t>, Placed> all;
  for (const StepRow& row : rows) {
    Placed& one = all[{row.workers, row.nodes, row.devices(), row.batch_per_worker, row.accumulation}];
    one.row = row;
    one.micro_s.push_back(row.micro_s());
  }
  std::vector<Placed> list;
  for (auto& [key, one] : all) list.push_back(std::move(one));
  return list;
}

std::string too_good(const std::vector<Placed>& all) {
  std::map<std::pair<std::int64_t, std::int64_t>, double> alone_s;  // by batch and accumulation
  for (const Placed& one : all)
    if (one.row.workers == 1) alone_s[{one.row.batch_per_worker, one.row.accumulation}] = one.median_s();
  for (const Placed& many : all) {
    const auto alone = alone_s.find({many.row.batch_per_worker, many.row.accumulation});
    if (many.row.workers == 1 || alone == alone_s.end()) continue;
    const double ratio = alone->second / many.median_s();
    if (ratio > rounding)
      return fmt::format("N = {} has {:.3g} times the throughput of one worker, more than {} times, which cannot be",
                         many.row.workers, ratio * static_cast<double>(many.row.workers), many.row.workers);
  }
  return "";
}

std::string unequal_repeats(const std::vector<Placed>& all) {
  for (const Placed& one : all) {
    const auto [least, most] = std::ranges::minmax(one.micro_s);
    if (most > repeats_ratio * least)
      return fmt::format("rows of N = {} with the same batch and placement differ from {} to {}: one of them may have "
                         "another unit",
                         one.row.workers, time_text(least), time_text(most));
  }
  return "";
}

}  // namespace

std::vector<std::string> table_doubts(const std::vector<StepRow>& rows) {
  const std::vector<Placed> all = placed(rows);
  std::vector<std::string> doubts;
  for (std::string doubt : {too_good(all), unequal_repeats(all)})
    if (!doubt.empty()) doubts.push_back(std::move(doubt));
  return doubts;
}

}  // namespace ddpprof::fit
