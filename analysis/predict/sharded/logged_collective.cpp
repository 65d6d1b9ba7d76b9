#include "analysis/predict/sharded/logged_collective.hpp"

#include <algorithm>
#include <cmath>

#include "analysis/fit/not_supported.hpp"
#include "simulator/stats/normal.hpp"

namespace ddpprof::fit {
namespace {

constexpr double factor_error = 0.1;  // of the logarithm of a factor that was not measured
constexpr double least_bytes = 1.0;   // its time is the latency

}  // namespace

LoggedCollective::LoggedCollective(const std::string& op, const std::vector<CollectiveRun>& runs,
                                   std::int64_t ranks_per_host)
    : series_(op, runs), ranks_per_host_(ranks_per_host) {}

std::int64_t LoggedCollective::hosts(const RankGroup& group) const {
  const std::int64_t per_host = std::max<std::int64_t>(1, ranks_per_host_ / group.distance);
  return (group.ranks - 1) / per_host + 1;
}

std::string LoggedCollective::refusal(const RankGroup& group) const {
  if (group.ranks < 2) return "";
  try {
    series_.predict(least_bytes, group.ranks, hosts(group));
    return "";
  } catch (const NotSupported& error) {
    return error.reason();
  }
}

double LoggedCollective::seconds(const RankGroup& group, double bytes, const WhatIf& change) const {
  if (group.ranks < 2) return 0.0;
  const auto at = [&](double size) {
    return factor_.value_or(1.0) * series_.predict(std::max(size, least_bytes), group.ranks, hosts(group)).time_s;
  };
  const double latency_s = std::min(at(least_bytes), at(bytes));
  return latency_s * change.latency.factor + (at(bytes) - latency_s) / change.bandwidth.factor;
}

double LoggedCollective::spread(const RankGroup& group, double bytes) const {
  if (group.ranks < 2) return 0.0;
  constexpr double confidence = 0.9;
  const CollectiveTime time = series_.predict(std::max(bytes, least_bytes), group.ranks, hosts(group), confidence);
  const double half = 0.5 * std::log(time.high_s / time.low_s);
  const double of_log = half / stats::normal_quantile(0.5 + 0.5 * confidence);
  return factor_ ? of_log : std::hypot(of_log, factor_error);
}

}  // namespace ddpprof::fit
