#include "analysis/fit/measured/unseen_waits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "analysis/fit/measured/pool.hpp"
#include "simulator/collective/nccl.hpp"
#include "simulator/stats/summary.hpp"

namespace ddpprof::fit {
namespace {

// Latency of a small message: the slowest that NCCL assumes with this many ranks, over PCIe or the network.
double library_latency_s(const Machine& machine) {
  if (machine.backend.find("nccl") == std::string::npos)
    return 4.0 * static_cast<double>(machine.workers - 1) * 100e-6;  // Gloo: hops of a loaded host's TCP
  collective::nccl::System system;
  system.ranks = machine.workers;
  system.nodes = machine.workers % machine.nodes == 0 ? machine.nodes : 1;
  system.nvlink = false;
  double slowest_s = 0.0;
  for (const collective::nccl::Estimate& estimate : collective::nccl::all_reduce_estimates(system, 8))
    slowest_s = std::max(slowest_s, estimate.latency_s);
  return slowest_s;
}

struct Line {
  double slope = 0.0;  // s/byte
  double intercept_s = 0.0;
};

// Theil and Sen's: the median of all slopes, not below 0.
Line line_through(const std::map<std::int64_t, std::pair<double, double>>& points) {
  std::vector<double> slopes, rests;
  for (auto a = points.begin(); a != points.end(); ++a)
    for (auto b = std::next(a); b != points.end(); ++b)
      if (a->second.first != b->second.first)
        slopes.push_back((b->second.second - a->second.second) / (b->second.first - a->second.first));
  Line line;
  if (!slopes.empty()) line.slope = std::max(0.0, stats::median(slopes));
  for (const auto& [bucket, point] : points) rests.push_back(point.second - line.slope * point.first);
  line.intercept_s = stats::median(rests);
  return line;
}

}  // namespace

UnseenWaits find_unseen_waits(const MeasurementInfo& info, std::vector<StepInfo>& steps,
                              std::vector<CollectiveInfo>& collectives) {
  UnseenWaits found;
  const std::size_t imported = ranks_of_import(steps, info);
  if (imported == 0 || static_cast<std::int64_t>(imported) >= info.machine.workers) return found;
  std::map<std::int64_t, std::vector<double>> durations_s;  // by bucket
  std::map<std::int64_t, std::int64_t> bytes;
  // Without the waiting of the imported ranks for each other.
  const auto duration_s = [](const CollectiveInfo& c) {
    return static_cast<double>(*c.end_ns - *c.start_ns - c.skew_ns) * 1e-9;
  };
  for (const CollectiveInfo& c : collectives)
    if (c.start_ns && c.end_ns && *c.end_ns - c.skew_ns > *c.start_ns && c.bytes > 0) {
      durations_s[c.bucket].push_back(duration_s(c));
      bytes[c.bucket] = c.bytes;
    }
  if (durations_s.empty()) return found;
  std::map<std::int64_t, std::pair<double, double>> points;  // bucket -> bytes, seconds
  std::map<std::int64_t, double> sizes;
  double shortest_s = INFINITY;
  for (const auto& [bucket, all] : durations_s) {
    points[bucket] = {static_cast<double>(bytes[bucket]), stats::median(all)};
    sizes[bytes[bucket]] = 0.0;
    shortest_s = std::min(shortest_s, points[bucket].second);
  }
  if (sizes.size() > 1) {
    found.latency_s = library_latency_s(info.machine);
    // At least a tenth of the shortest time is transfer.
    found.wait_s = std::clamp(line_through(points).intercept_s - found.latency_s, 0.0, 0.9 * shortest_s);
  }
  std::map<std::int64_t, double> of_step_s;
  for (CollectiveInfo& c : collectives) {
    const auto point = points.find(c.bucket);
    if (!c.start_ns || !c.end_ns || point == points.end()) continue;
    const double wait_s = found.wait_s + std::max(0.0, duration_s(c) - point->second.second);
    c.skew_ns += static_cast<std::int64_t>(wait_s * 1e9);
    of_step_s[c.step_id] += wait_s;
  }
  for (StepInfo& step : steps)
    if (const auto wait = of_step_s.find(step.id); wait != of_step_s.end())
      step.skew_ns = std::min(step.communication_ns, step.skew_ns + static_cast<std::int64_t>(wait->second * 1e9));
  found.warning = fmt::format(
      "N = {}: traces of {} of {} ranks represent all ranks; the time they waited for the missing ranks is not "
      "recorded: {}",
      info.machine.workers, imported, info.machine.workers,
      sizes.size() < 2 ? std::string("it cannot be estimated from all-reduces of one size and counts as transfer")
                       : fmt::format("estimated at {:.3g} ms per all-reduce, which is the part beyond {:.3g} us of "
                                     "latency and a time proportional to the bytes",
                                     found.wait_s * 1e3, found.latency_s * 1e6));
  return found;
}

}  // namespace ddpprof::fit
