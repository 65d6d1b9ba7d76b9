// Creates the shard of any rank of a large DDP training on hosts with different clocks, in closed form.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>

#include "tests/analysis/ingest/training_shard.hpp"

namespace ddpprof::test {

// Rank 0's clock is the reference. Host h's clock shows reference_ns · (1 + 20 ppm · (h mod 5 − 2)) + 3 s · h when rank
// 0's shows reference_ns. Ranks synchronise in each bucket: all start a step at the same reference time.
struct SimulatedTraining {
  std::int32_t ranks = 16, ranks_per_host = 8;
  std::int64_t steps = 20;
  std::int32_t buckets = 10, gradients_per_bucket = 2, samples = 8;
  std::int64_t compute_percent = 100;  // scales forward and backward, not the all-reduces

  static constexpr std::int64_t begin_ns = 1'000'000'000'000;

  std::int32_t host(std::int32_t rank) const { return rank / ranks_per_host; }
  std::int64_t local_ns(std::int32_t rank, std::int64_t reference_ns) const {
    const std::int64_t h = host(rank);
    const std::int64_t drift_ppm = h == 0 ? 0 : 20 * (h % 5 - 2);
    return reference_ns + reference_ns / 1'000'000 * drift_ppm + 3'000'000'000 * h;
  }
  std::int64_t step_ns() const { return 40'000'000 + computed_ns(60'000'000); }
  std::int64_t step_begin_ns(std::int64_t step) const { return begin_ns + step * step_ns(); }  // rank 0's clock
  std::int64_t computed_ns(std::int64_t ns) const { return ns * compute_percent / 100; }

  TrainingShard shard(std::int32_t rank) const {
    TrainingShard made(rank, ranks, 16 * 1024);
    auto& header = made.shard.header;
    header.host = "node-" + std::to_string(host(rank));
    header.boot_id = "boot-" + std::to_string(host(rank));
    const auto at = [&](std::int64_t reference_ns) { return local_ns(rank, reference_ns); };
    for (std::int64_t end : {begin_ns - 1'000'000, step_begin_ns(steps) + 1'000'000})
      for (int i = 0; i < 8; ++i) made.exchange(at(end + 1000 * i), end + 1000 * i, 40'000 + 1000 * i);
    for (std::int32_t p = 0; p < buckets * gradients_per_bucket; ++p) {
      made.parameter(p, "layer." + std::to_string(p), 1000);
      made.member(0, p / gradients_per_bucket, p, at(begin_ns - 2'000'000));
    }
    for (std::int64_t s = 0; s < steps; ++s) {
      const std::int64_t t = step_begin_ns(s);
      // Forward 10 ms, backward 50 ms with a bucket every 5 ms, 20 ms until the last one is reduced, optimizer 20 ms.
      const std::int64_t backward = t + computed_ns(10'000'000), reduced = t + computed_ns(60'000'000) + 20'000'000;
      made.begin_step(s, at(t), samples, s < 2 ? vocabulary::StepKind::warmup : vocabulary::StepKind::measured);
      made.phase("forward", at(t), at(backward));
      made.shard.push(TrainingShard::main_tid, at(backward), "backward", TrainingShard::domain);
      for (std::int32_t b = 0; b < buckets; ++b) {
        const std::int64_t ready = backward + computed_ns(5'000'000LL * (b + 1));
        for (int g = 0; g < gradients_per_bucket; ++g) made.grad(b * gradients_per_bucket + g, at(ready - 10 + g));
        // Rank r starts r µs later than rank 0, and all end together.
        const std::int64_t start = ready + 20'000 + 1000LL * rank;
        made.collective(static_cast<std::uint64_t>(buckets * s + b), b, 25 << 20, at(ready + 10'000), at(start),
                        at(ready + 4'000'000));
      }
      made.shard.pop(TrainingShard::main_tid, at(reduced), TrainingShard::domain);
      made.phase("optimizer", at(reduced), at(reduced + 20'000'000));
      made.pop(at(t + step_ns() - 1000));
    }
    return made;
  }
};

}  // namespace ddpprof::test
