// What the ranks do together besides training: meet, and follow rank 0's word.
#pragma once

#include <vector>

#include "runner/worker/process_group/process_group.hpp"

namespace ddpprof::worker {

// None does anything else without a group.
void meet(Group* group);             // returns when every rank is here
bool agree(Group* group, bool own);  // rank 0's `own`, on every rank
// Every rank's numbers, in the order of ranks, on every rank; each rank gives as many.
std::vector<std::vector<double>> everyones(Group* group, const std::vector<double>& own);

}  // namespace ddpprof::worker
