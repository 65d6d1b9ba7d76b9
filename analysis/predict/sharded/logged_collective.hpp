// Cost of an all-gather or a reduce-scatter of a sharded step, from sweeps of nccl-tests on the predicted machines.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/fit/nccl_tests/collective_series.hpp"
#include "analysis/predict/step_model/what_if.hpp"

namespace ddpprof::fit {

// A group of ranks that communicate. Its ranks have this distance in the job: 1, or the size of a shard group if they
// are replicas of a shard.
struct RankGroup {
  std::int64_t ranks = 1, distance = 1;
};

class LoggedCollective {
 public:
  // Uses the runs of `op`. `ranks_per_host` consecutive ranks of the predicted job are on one host. Throws NotSupported
  // if the runs cannot be fitted.
  LoggedCollective(const std::string& op, const std::vector<CollectiveRun>& runs, std::int64_t ranks_per_host);

  // Returns why no run measured the links of this group; empty if one did.
  std::string refusal(const RankGroup&) const;
  bool covers(const RankGroup& group) const { return refusal(group).empty(); }
  // Requires covers(). Returns 0 for a group of one rank.
  double seconds(const RankGroup&, double bytes, const WhatIf&) const;
  // Standard deviation of the logarithm of the time. Requires covers().
  double spread(const RankGroup&, double bytes) const;

  // The job's own calls take `factor` times as long as in the log, because they run beside compute.
  void set_factor(double factor) { factor_ = factor; }
  std::optional<double> factor() const { return factor_; }

 private:
  std::int64_t hosts(const RankGroup&) const;

  CollectiveSeries series_;
  std::int64_t ranks_per_host_;
  std::optional<double> factor_;  // none: not measured
};

}  // namespace ddpprof::fit
