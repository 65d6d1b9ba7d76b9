// How many ranks share this rank's processors, whoever started them, bound them to which, and called their hosts what.
#pragma once

#include <string>
#include <vector>

#include <torch/csrc/distributed/c10d/Store.hpp>

namespace ddpprof::worker {

struct CoreShare {
  int sharing = 1;     // ranks of this machine that may run where this one may, it included
  int host_cores = 1;  // processors that any rank of this machine may run on, at most a cgroup's quota
  // The processors that ranks compete for with this one: those it may run on, those that ranks may run on which may run
  // on these, and so on. Equal names on the ranks that do.
  std::string pool;
  int pool_cores = 1;
};

// "machine|0-3,8": which pool of processors this process draws on, and which of them it may run on
// (sched_getaffinity). Containers of one machine have names of their own and the same processors; those with a quota of
// their own (cgroup) share with nobody outside.
std::string core_entry();

// `entries`: each rank's core_entry(). An entry that cannot be read counts as sharing nothing.
CoreShare share_of(const std::vector<std::string>& entries, int rank);

// Leaves this rank's entry in the store and reads all. Throws c10::DistError when one does not come.
CoreShare share_cores(c10d::Store& store, int rank, int world_size);

}  // namespace ddpprof::worker
