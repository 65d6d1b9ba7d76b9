// Finds the collective call of the host that launched a kernel, whatever the kernel's name is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "analysis/import/trace/rank_trace.hpp"

namespace ddpprof::import {

class CollectiveLaunches {
 public:
  // The calls must outlive this object and must not change.
  explicit CollectiveLaunches(const std::vector<CollectiveCall>& calls);

  bool empty() const { return by_id_.empty() && spans_.empty(); }

  // Returns the index of the call to which a launch belongs: the call has the launch's external id, which is the
  // innermost operation around the launch. A launch without an external id belongs to the innermost call on its thread
  // that contains it.
  std::optional<std::size_t> call_of(const LaunchCall&) const;

 private:
  std::unordered_map<std::int64_t, std::size_t> by_id_;
  std::map<std::int64_t, std::vector<std::size_t>> spans_;  // by thread: calls in order of their start
  const std::vector<CollectiveCall>& calls_;
};

// Sets CollectiveCall::outer of the calls of one rank: true if the call is not the inner record of another one on the
// same thread. PyTorch records one collective up to three times: c10d::allreduce_, in it record_param_comms, in it
// nccl:all_reduce.
void mark_outer_calls(std::vector<CollectiveCall>&);

}  // namespace ddpprof::import
