#include "analysis/fit/measured/gradients.hpp"

#include <SQLiteCpp/Statement.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "simulator/stats/summary.hpp"
#include "tracer/store/rows/queries.hpp"

namespace ddpprof::fit {
namespace {

std::map<std::int64_t, double> median_ready_s(SQLite::Database& sql, const std::vector<StepInfo>& steps) {
  if (steps.empty()) return {};
  const std::int64_t lowest = std::ranges::min(steps, {}, &StepInfo::rank).rank;
  store::StepReader rows(sql);
  std::map<std::int64_t, std::vector<double>> ready_s;
  for (const StepInfo& step : steps) {
    if (step.unwrapped || step.untraced || step.rank != lowest || !step.backward_start_ns) continue;
    for (const store::GradReadyRow& row : rows.gradients(step.id))
      ready_s[row.parameter].push_back(static_cast<double>(row.ready_ns - *step.backward_start_ns) * 1e-9);
  }
  std::map<std::int64_t, double> medians;
  for (const auto& [parameter, times] : ready_s) medians[parameter] = std::max(0.0, stats::median(times));
  return medians;
}

struct Member {
  std::int64_t generation, bucket, parameter;
};

// Returns the last generation of the bucket table, in order.
std::vector<Member> last_buckets(SQLite::Database& sql, std::int64_t measurement) {
  SQLite::Statement query(sql,
                          "SELECT generation, bucket, parameter FROM bucket WHERE measurement_id = ?1 AND generation = "
                          "(SELECT MAX(generation) FROM bucket WHERE measurement_id = ?1) ORDER BY bucket, position");
  query.bind(1, measurement);
  std::vector<Member> members;
  while (query.executeStep())
    members.push_back({query.getColumn(0).getInt64(), query.getColumn(1).getInt64(), query.getColumn(2).getInt64()});
  return members;
}

Bucket joined(const Bucket& bucket, const GradientReady& gradient) {
  return {bucket.bytes + gradient.bytes, std::max(bucket.ready_s, gradient.ready_s)};
}

}  // namespace

std::vector<GradientReady> read_gradients(SQLite::Database& sql, const MeasurementInfo& info,
                                          const std::vector<StepInfo>& steps) {
  const std::map<std::int64_t, double> ready_s = median_ready_s(sql, steps);
  std::vector<GradientReady> gradients;
  for (const store::ParameterRow& row : store::read_parameters(sql, info.id)) {
    const auto ready = ready_s.find(row.parameter);
    if (ready == ready_s.end()) continue;
    const auto element = row.bytes / std::max<std::int64_t>(1, row.numel);
    gradients.push_back({row.parameter, row.bytes, static_cast<std::int32_t>(element), ready->second});
  }
  std::map<std::int64_t, std::int64_t> place;  // in DDP's own order
  for (const Member& member : last_buckets(sql, info.id))
    if (member.generation > 0) place.emplace(member.parameter, static_cast<std::int64_t>(place.size()));
  std::ranges::stable_sort(gradients, {}, [&](const GradientReady& gradient) {
    const auto known = place.find(gradient.parameter);
    return std::pair(known == place.end() ? -1 : known->second, known == place.end() ? gradient.ready_s : 0.0);
  });
  return gradients;
}

std::vector<Bucket> bucketed(const std::vector<GradientReady>& gradients, const step::BucketLimits& limits,
                             bool find_unused_parameters) {
  std::vector<GradientReady> ordered = gradients;
  if (find_unused_parameters) std::ranges::stable_sort(ordered, {}, &GradientReady::parameter);
  std::vector<step::Gradient> sizes;
  for (const GradientReady& gradient : ordered) sizes.push_back({gradient.bytes, gradient.element_bytes, 0});
  std::vector<std::int64_t> order(sizes.size());
  std::iota(order.begin(), order.end(), std::int64_t{0});
  const step::Buckets groups = find_unused_parameters ? step::first_iteration_buckets(sizes, limits, true)
                                                      : step::rebuilt_buckets(sizes, order, limits);
  std::vector<Bucket> buckets;
  for (const auto& group : groups) {
    Bucket bucket;
    for (const std::int64_t member : group) bucket = joined(bucket, ordered[static_cast<std::size_t>(member)]);
    buckets.push_back(bucket);
  }
  return buckets;
}

std::vector<Bucket> read_buckets(SQLite::Database& sql, const MeasurementInfo& info,
                                 const std::vector<GradientReady>& gradients) {
  if (gradients.empty()) return {};
  const std::vector<Member> members = last_buckets(sql, info.id);
  if (members.empty())
    return bucketed(gradients, step::BucketLimits::from_cap(info.bucket_cap_mb), info.find_unused_parameters);
  std::map<std::int64_t, const GradientReady*> by_parameter;
  for (const GradientReady& gradient : gradients) by_parameter[gradient.parameter] = &gradient;
  std::map<std::int64_t, Bucket> buckets;
  for (const Member& member : members) {
    Bucket& bucket = buckets[member.bucket];
    if (const auto gradient = by_parameter.find(member.parameter); gradient != by_parameter.end())
      bucket = joined(bucket, *gradient->second);
  }
  std::vector<Bucket> in_order;
  for (const auto& [number, bucket] : buckets) in_order.push_back(bucket);
  return in_order;
}

}  // namespace ddpprof::fit
