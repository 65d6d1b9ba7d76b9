// Reads which thread launched which device work from a process's shard.
#pragma once

#include <vector>

#include "analysis/import/recorded/launching_threads.hpp"
#include "tracer/store/shard/shard_reader.hpp"

namespace ddpprof::import {

// Returns the calls that launched kernels or copies to the device, in the shard's order. Covers the first million
// recorded kernels and copies, so that memory stays bounded. Throws store::ShardError.
std::vector<Launch> launches_in(const store::ShardReader&);

}  // namespace ddpprof::import
