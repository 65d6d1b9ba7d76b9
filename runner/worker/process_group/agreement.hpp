// What the ranks do together besides training: meet, and follow rank 0's word.
#pragma once

#include "runner/worker/process_group/process_group.hpp"

namespace ddpprof::worker {

// Both do nothing else without a group.
void meet(Group* group);             // returns when every rank is here
bool agree(Group* group, bool own);  // rank 0's `own`, on every rank

}  // namespace ddpprof::worker
