// Chooses the samples of a rank: the same indices as Python's DistributedSampler, or samples drawn by weight.
#pragma once

#include <cstdint>
#include <vector>

namespace ddpprof::worker {

// torch/utils/data/distributed.py of PyTorch 2.11: num_samples = ceil(n/N), or ceil((n−N)/N) with drop_last when N does
// not divide n; the permutation comes from a CPU generator seeded with seed + epoch (the identity without shuffle) and
// is repeated to num_samples·N if it is too short; rank r takes every N-th index from r on.
//
// With weights (PyTorch has no weighted distributed sampler; this is the usual user code) the order is
// torch.multinomial(weights, num_samples·N, replacement=True) from the same generator, as WeightedRandomSampler draws,
// and rank r takes every N-th from r on. At most 2^24 samples, multinomial's limit.
struct SamplerOptions {
  std::int64_t samples = 0;   // n ≥ 1
  std::int64_t replicas = 1;  // N ≥ 1
  std::int64_t rank = 0;      // 0 ≤ rank < N
  bool shuffle = true;
  bool drop_last = false;
  std::uint64_t seed = 0;
  bool set_epoch = true;             // false: every epoch has the order of epoch 0, as if set_epoch were not called
  std::vector<double> weights = {};  // one per sample, 0 or more; empty: uniform
  bool whole = false;                // one process takes the samples of all ranks, in their order

  std::int64_t takers() const { return whole ? 1 : replicas; }  // processes among which the order is divided
};

std::int64_t samples_per_rank(const SamplerOptions&);  // of each of the `replicas`, in one epoch
// `epoch` is what set_epoch was called with. Throws std::invalid_argument if the options are not valid.
std::vector<std::int64_t> epoch_indices(const SamplerOptions&, std::int64_t epoch);

// The samples of one batch.
struct Picks {
  std::vector<std::int64_t> indices;   // into the data set
  std::vector<std::uint64_t> streams;  // seeds of the random choices for each sample; they depend on seed, epoch and
                                       // the place in the epoch's order, not on the number of ranks
  std::int64_t epoch = 0;              // of the last sample
  std::int64_t position = 0;           // samples of this epoch that this rank has taken, including these
};

// Returns a rank's indices batch by batch, epoch after epoch. The last batch of an epoch is completed from the next
// epoch's first indices, so that every step has the same size (Python's DataLoader returns a shorter batch instead).
class BatchSampler {
 public:
  BatchSampler(SamplerOptions options, std::int64_t batch);
  Picks next();
  // Continues in `epoch` after the first `position` samples of this rank (at most all of them).
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
