// Which samples a rank trains on: Python's DistributedSampler, index for index.
#pragma once

#include <cstdint>
#include <vector>

namespace ddpprof::worker {

// torch/utils/data/distributed.py of PyTorch 2.11: num_samples = ceil(n/N), or ceil((n−N)/N) with drop_last when N does
// not divide n; the permutation comes from a CPU generator seeded with seed + epoch (the identity without shuffle) and
// is repeated to num_samples·N when too short; rank r takes every N-th index from r on.
struct SamplerOptions {
  std::int64_t samples = 0;   // n ≥ 1
  std::int64_t replicas = 1;  // N ≥ 1
  std::int64_t rank = 0;      // 0 ≤ rank < N
  bool shuffle = true;
  bool drop_last = false;
  std::uint64_t seed = 0;
};

std::int64_t samples_per_rank(const SamplerOptions&);
std::vector<std::int64_t> epoch_indices(const SamplerOptions&, std::int64_t epoch);

// Hands out a rank's indices batch by batch, epoch after epoch (set_epoch before each, as Python's users do). The last
// batch of an epoch is completed from the next epoch's first indices, so that every step has the same size.
class BatchSampler {
 public:
  BatchSampler(SamplerOptions options, std::int64_t batch);
  std::vector<std::int64_t> next();
  std::int64_t epoch() const { return epoch_; }

 private:
  SamplerOptions options_;
  std::int64_t batch_;
  std::int64_t epoch_ = 0;
  std::size_t position_ = 0;
  std::vector<std::int64_t> indices_;
};

}  // namespace ddpprof::worker
