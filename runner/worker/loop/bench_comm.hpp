// All-reduce timings over message sizes, measured as in nccl-tests: back to back, without barriers.
#pragma once

#include <cstdint>

#include <nlohmann/json.hpp>

#include "runner/worker/loop/context.hpp"

namespace ddpprof::worker {

struct BenchCommOptions {
  std::int64_t first_bytes = 1024;
  std::int64_t last_bytes = std::int64_t{256} << 20;
  std::int64_t factor = 4;
  double seconds_per_size = 1.5;  // target time for the iterations of one size
  std::int64_t least = 5;         // minimum number of iterations
  std::int64_t most = 400;        // maximum number of iterations
  double longest_s = 2.0;         // larger sizes are left out if one all-reduce would take longer
};

// Every rank must call this. All-reduces float32 sums; two warm-up all-reduces per size, from which rank 0 sets for all
// ranks the number of iterations, and whether a larger size follows. Returns {"samples": [[bytes, iteration,
// duration_ns, processor_ns], …]}: duration from launch to completion on this rank's clock, and the processor time of
// this process in it. Adds a warning if sizes were left out.
nlohmann::json bench_comm(const Context& context, Group& group, const BenchCommOptions& options = {});

}  // namespace ddpprof::worker
