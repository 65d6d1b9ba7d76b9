// Operations of all ranks besides training: barrier, decisions of rank 0, exchange of numbers.
#pragma once

#include <vector>

#include "runner/worker/process_group/process_group.hpp"

namespace ddpprof::worker {

// Without a group these functions only return the rank's own value.
void meet(Group* group);             // barrier: returns when every rank has called it
bool agree(Group* group, bool own);  // returns rank 0's `own` on every rank
// Returns the numbers of every rank, in the order of ranks. All ranks must pass the same count.
std::vector<std::vector<double>> everyones(Group* group, const std::vector<double>& own);

}  // namespace ddpprof::worker
