// How many ranks of a host share this rank's processors, whoever started them and bound them to which.
#pragma once

#include <string>
#include <vector>

#include <torch/csrc/distributed/c10d/Store.hpp>

namespace ddpprof::worker {

struct CoreShare {
  int sharing = 1;     // ranks of this host that may run where this one may, it included
  int host_cores = 1;  // processors that any rank of this host may run on, at most a cgroup's quota
};

// "host|0-3,8": where this process is and which processors it may run on (sched_getaffinity).
std::string core_entry();

// `entries`: each rank's core_entry(). An entry that cannot be read counts as sharing nothing.
CoreShare share_of(const std::vector<std::string>& entries, int rank);

// Leaves this rank's entry in the store and reads all. Throws c10::DistError when one does not come.
CoreShare share_cores(c10d::Store& store, int rank, int world_size);

}  // namespace ddpprof::worker
