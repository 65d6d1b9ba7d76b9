// Which samples a rank trains on: Python's DistributedSampler, index for index, or drawn by weight.
#pragma once

#include <cstdint>
#include <vector>

namespace ddpprof::worker {

// torch/utils/data/distributed.py of PyTorch 2.11: num_samples = ceil(n/N), or ceil((n−N)/N) with drop_last when N does
// not divide n; the permutation comes from a CPU generator seeded with seed + epoch (the identity without shuffle) and
// is repeated to num_samples·N when too short; rank r takes every N-th index from r on.
//
// With weights (ours: PyTorch has no weighted distributed sampler, but this is what people write) the order is
// torch.multinomial(weights, num_samples·N, replacement=True) from the same generator, as WeightedRandomSampler draws,
// and rank r takes every N-th from r on. At most 2^24 samples, multinomial's limit.
struct SamplerOptions {
  std::int64_t samples = 0;   // n ≥ 1
  std::int64_t replicas = 1;  // N ≥ 1
  std::int64_t rank = 0;      // 0 ≤ rank < N
  bool shuffle = true;
  bool drop_last = false;
  std::uint64_t seed = 0;
  bool set_epoch = true;             // false: the order of epoch 0 in every epoch, as when set_epoch is forgotten
  std::vector<double> weights = {};  // one a sample, none below 0; empty: uniform
  bool whole = false;                // one process takes what all ranks would take together, in that order

  std::int64_t takers() const { return whole ? 1 : replicas; }  // that share the order out
};

std::int64_t samples_per_rank(const SamplerOptions&);  // of each of the `replicas`
// `epoch` is what set_epoch was called with. Throws std::invalid_argument on options that cannot be.
std::vector<std::int64_t> epoch_indices(const SamplerOptions&, std::int64_t epoch);

// The samples of one batch.
struct Picks {
  std::vector<std::int64_t> indices;   // into the data set
  std::vector<std::uint64_t> streams;  // seeds what is drawn for each; depends on seed, epoch and the place in the
                                       // whole epoch's order, so not on the number of ranks
  std::int64_t epoch = 0;              // of the last of them
  std::int64_t position = 0;           // samples of that epoch that this rank has taken, these included
};

// Hands out a rank's indices batch by batch, epoch after epoch. The last batch of an epoch is completed from the next
// epoch's first indices, so that every step has the same size (Python's DataLoader gives a short one instead).
class BatchSampler {
 public:
  BatchSampler(SamplerOptions options, std::int64_t batch);
  Picks next();
  // Goes on in `epoch` behind its first `position` samples of this rank (at most all of them).
  void seek(std::int64_t epoch, std::int64_t position);
  std::int64_t epoch() const { return epoch_; }

 private:
  std::vector<std::int64_t> order() const;

  SamplerOptions options_;
  std::int64_t batch_;
  std::int64_t epoch_ = 0;
  std::size_t position_ = 0;
  std::vector<std::int64_t> indices_;
};

}  // namespace ddpprof::worker
