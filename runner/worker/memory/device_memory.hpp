// The memory of a training's tensors on each of its devices.
#pragma once

#include <nlohmann/json.hpp>

#include "runner/worker/loop/context.hpp"

namespace ddpprof::worker {

// Resets the peaks. Call it before the measured steps.
void begin_memory_window(const Context& context);

// Returns [{"device": 0, "held_bytes", "peak_bytes"}, …]: for DDP its device, for DataParallel each device, the root's
// first. held_bytes is the memory between two steps: parameters, optimizer state, buckets. On GPUs it is the memory
// allocated from LibTorch's caching allocator (Python: memory_allocated()), which is less than the driver shows; on the
// CPU see counting_allocator.hpp.
nlohmann::json device_memory(const Context& context);

}  // namespace ddpprof::worker
