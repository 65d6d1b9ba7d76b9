#include "analysis/metrics/overlap_rule.hpp"

#include <SQLiteCpp/Statement.h>

#include <algorithm>
#include <map>
#include <utility>

namespace ddpprof::metrics {
namespace {

// Microseconds as a reader of JSON gets them: the double next to the decimals. Whole and fractional part apart, as
// nanoseconds since 1970 do not fit into a double.
double in_us(std::int64_t ns) { return static_cast<double>(ns / 1000) + static_cast<double>(ns % 1000) / 1000.0; }

struct Interval {
  double start_us = 0.0, end_us = 0.0;
};
using Intervals = std::vector<Interval>;

// `any` in order of their start.
Intervals unite(const Intervals& any) {
  Intervals result;
  for (const Interval& one : any) {
    if (!result.empty() && one.start_us <= result.back().end_us)
      result.back().end_us = std::max(result.back().end_us, one.end_us);
    else
      result.push_back(one);
  }
  return result;
}

Intervals clip(const Intervals& set, const Interval& window) {
  Intervals result;
  for (const Interval& one : set) {
    const Interval part{std::max(one.start_us, window.start_us), std::min(one.end_us, window.end_us)};
    if (part.end_us > part.start_us) result.push_back(part);
  }
  return result;
}

double total_us(const Intervals& set) {
  double sum = 0.0;
  for (const Interval& one : set) sum += one.end_us - one.start_us;
  return sum;
}

double common_us(const Intervals& a, const Intervals& b) {
  double sum = 0.0;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const double start_us = std::max(a[i].start_us, b[j].start_us), end_us = std::min(a[i].end_us, b[j].end_us);
    if (start_us < end_us) sum += end_us - start_us;
    (a[i].end_us < b[j].end_us ? i : j) += 1;
  }
  return sum;
}

struct Activities {
  Intervals compute, communication, copies, any;
};

void add(Intervals& to, SQLite::Statement& query) {
  const std::int64_t start_ns = query.getColumn(0).getInt64(), end_ns = query.getColumn(1).getInt64();
  const double start_us = in_us(start_ns);
  to.push_back({start_us, start_us + in_us(end_ns - start_ns)});
}

Activities read_activities(SQLite::Database& db, std::int64_t shard) {
  Activities all;
  SQLite::Statement kernels(db,
                            "SELECT k.start_ns, k.end_ns, EXISTS (SELECT 1 FROM kernel_summary s WHERE s.shard_id = "
                            "k.shard_id AND s.name_id = k.name_id AND s.kind = 'communication') FROM kernel k "
                            "WHERE k.shard_id = ? ORDER BY k.start_ns, k.end_ns");
  kernels.bind(1, shard);
  while (kernels.executeStep()) add(kernels.getColumn(2).getInt() != 0 ? all.communication : all.compute, kernels);
  SQLite::Statement copies(db, "SELECT start_ns, end_ns FROM memcpy WHERE shard_id = ? ORDER BY start_ns, end_ns");
  copies.bind(1, shard);
  while (copies.executeStep()) add(all.copies, copies);
  for (Intervals* part : {&all.compute, &all.communication, &all.copies}) {
    *part = unite(*part);
    all.any.insert(all.any.end(), part->begin(), part->end());
  }
  std::sort(all.any.begin(), all.any.end(),
            [](const Interval& a, const Interval& b) { return a.start_us < b.start_us; });
  all.any = unite(all.any);
  return all;
}

double in_s(double us) { return us / 1e6; }

}  // namespace

std::string_view to_string(OverlapRule rule) {
  switch (rule) {
    case OverlapRule::intersection:
      return "intersection";
    case OverlapRule::hta:
      return "hta";
    case OverlapRule::tensorboard:
      return "tensorboard";
  }
  return "";
}

const std::vector<OverlapRule>& all_overlap_rules() {
  static const std::vector<OverlapRule> all{OverlapRule::intersection, OverlapRule::hta, OverlapRule::tensorboard};
  return all;
}

std::vector<HtaTimes> hta_times(SQLite::Database& db) {
  std::vector<HtaTimes> all;
  std::int64_t shard = -1;
  Activities activities;
  for (DeviceWindow& of : read_device_windows(db)) {
    if (!of.raw_kept) continue;
    if (of.shard != shard) {
      shard = of.shard;
      activities = read_activities(db, shard);
    }
    Interval window{in_us(of.start_ns), 0.0};
    window.end_us = window.start_us + in_us(of.span_ns);
    if (of.name == "all" && !activities.any.empty())
      window = {activities.any.front().start_us, activities.any.back().end_us};
    const Intervals compute = clip(activities.compute, window), busy = clip(activities.any, window);
    const Intervals communication = clip(activities.communication, window);
    const double span_us = window.end_us - window.start_us, overlapped_us = common_us(compute, communication);
    const double communication_us = total_us(communication), busy_us = total_us(busy), compute_us = total_us(compute);
    HtaTimes times;
    times.window = std::move(of);
    times.span_s = in_s(span_us);
    times.compute_s = in_s(compute_us);
    times.non_compute_s = in_s(busy_us - compute_us);
    times.idle_s = in_s(span_us - busy_us);
    times.communication_s = in_s(communication_us);
    times.copies_s = in_s(total_us(clip(activities.copies, window)));
    times.overlapped_s = in_s(overlapped_us);
    times.exposed_s = in_s(communication_us - overlapped_us);
    if (communication_us > 0) times.overlapped_share = overlapped_us / communication_us;
    all.push_back(std::move(times));
  }
  return all;
}

}  // namespace ddpprof::metrics
