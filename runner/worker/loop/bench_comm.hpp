// All-reduce timings over message sizes, as nccl-tests takes them: back to back, without barriers.
#pragma once

#include <cstdint>

#include <nlohmann/json.hpp>

#include "runner/worker/loop/context.hpp"

namespace ddpprof::worker {

struct BenchCommOptions {
  std::int64_t first_bytes = 1024;
  std::int64_t last_bytes = std::int64_t{256} << 20;
  std::int64_t factor = 4;
  double seconds_per_size = 1.5;  // iterations fill about this time …
  std::int64_t least = 5;         // … but are at least so many
  std::int64_t most = 400;        // … and at most
  double longest_s = 2.0;         // no size follows of which a single all-reduce would take longer than this
};

// Every rank calls this together. float32 sums of this rank's own tensor; per size two warm-up all-reduces, from which
// rank 0 sets the number of iterations for all and whether a larger size follows. Gives {"samples": [[bytes, iteration,
// duration_ns, processor_ns], …]}: launch to completion on this rank's clock, and what its threads computed meanwhile;
// and a warning when sizes were left out.
nlohmann::json bench_comm(const Context& context, Group& group, const BenchCommOptions& options = {});

}  // namespace ddpprof::worker
