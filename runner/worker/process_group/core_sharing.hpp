// Finds how many ranks share this rank's processors, for any launcher, binding and host names.
#pragma once

#include <string>
#include <vector>

#include <torch/csrc/distributed/c10d/Store.hpp>

namespace ddpprof::worker {

struct CoreShare {
  int sharing = 1;     // ranks of this machine that may run on this rank's processors, this rank included
  int host_cores = 1;  // processors on which any rank of this machine may run, at most the cgroup's quota
  // The set of processors that this rank shares: its own processors, those of every rank that may run on one of them,
  // and so on. Ranks with the same set have the same name.
  std::string pool;
  int pool_cores = 1;
};

// Returns "machine|0-3,8": the machine, and the processors on which this process may run (sched_getaffinity).
// Containers of one machine have different host names and the same processors. Containers with their own quota (cgroup)
// do not share processors with other containers.
std::string core_entry();

// `entries`: core_entry() of each rank. An invalid entry counts as a rank that shares no processors.
CoreShare share_of(const std::vector<std::string>& entries, int rank);

// Writes this rank's entry to the store and reads all entries. Throws c10::DistError if one is missing.
CoreShare share_cores(c10d::Store& store, int rank, int world_size);

}  // namespace ddpprof::worker
