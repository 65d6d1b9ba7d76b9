// Who launched what on the device, read from a process's shard.
#pragma once

#include <vector>

#include "analysis/import/recorded/launching_threads.hpp"
#include "tracer/store/shard/shard_reader.hpp"

namespace ddpprof::import {

// Calls that launched kernels or copies to the device, in the shard's order; of the first million kernels and copies
// recorded, so that memory stays bounded. Throws store::ShardError.
std::vector<Launch> launches_in(const store::ShardReader&);

}  // namespace ddpprof::import
