// What the tensors of a training take on each of its devices.
#pragma once

#include <nlohmann/json.hpp>

#include "runner/worker/loop/context.hpp"

namespace ddpprof::worker {

// From here on the peaks are those of the measured steps.
void begin_memory_window(const Context& context);

// [{"device": 0, "held_bytes", "peak_bytes"}, …]: DDP's own device, or each of DataParallel's, the root's first. Held:
// now, between two steps: parameters, optimizer, buckets. GPUs: what LibTorch's caching allocator has handed out
// (memory_allocated() in Python), which is less than what the driver shows; CPU: counting_allocator.hpp.
nlohmann::json device_memory(const Context& context);

}  // namespace ddpprof::worker
