#include "runner/worker/data/sampler.hpp"

#include <stdexcept>

#include "runner/worker/torch.hpp"

namespace ddpprof::worker {

std::int64_t samples_per_rank(const SamplerOptions& options) {
  const std::int64_t n = options.samples, ranks = options.replicas;
  if (n < 1 || ranks < 1 || options.rank < 0 || options.rank >= ranks)
    throw std::invalid_argument("sampler: expected samples >= 1 and 0 <= rank < replicas");
  const auto ceil_divide = [](std::int64_t a, std::int64_t b) { return (a + b - 1) / b; };
  if (!options.drop_last || n % ranks == 0) return ceil_divide(n, ranks);
  return n < ranks ? 0 : ceil_divide(n - ranks, ranks);
}

std::vector<std::int64_t> epoch_indices(const SamplerOptions& options, std::int64_t epoch) {
  // The permutation of the whole set is the only thing of its size, as it may hold a thousand million samples.
  at::Tensor permutation;
  if (options.shuffle) {
    const auto generator = at::make_generator<at::CPUGeneratorImpl>(options.seed + static_cast<std::uint64_t>(epoch));
    permutation = at::randperm(options.samples, generator, at::TensorOptions(at::kLong));
  }
  const std::int64_t* order = options.shuffle ? permutation.const_data_ptr<std::int64_t>() : nullptr;
  std::vector<std::int64_t> mine(static_cast<std::size_t>(samples_per_rank(options)));
  for (std::size_t j = 0; j < mine.size(); ++j) {
    const std::int64_t place = (options.rank + static_cast<std::int64_t>(j) * options.replicas) % options.samples;
    mine[j] = order ? order[place] : place;
  }
  return mine;
}

BatchSampler::BatchSampler(SamplerOptions options, std::int64_t batch)
    : options_(options), batch_(batch), indices_(epoch_indices(options, 0)) {
  if (indices_.empty())
    throw std::invalid_argument("data.samples (" + std::to_string(options.samples) +
                                ") with drop_last leaves nothing for " + std::to_string(options.replicas) +
                                " ranks; raise data.samples or unset data.drop_last");
}

std::vector<std::int64_t> BatchSampler::next() {
  std::vector<std::int64_t> batch;
  batch.reserve(static_cast<std::size_t>(batch_));
  while (static_cast<std::int64_t>(batch.size()) < batch_) {
    if (position_ == indices_.size()) {
      indices_ = epoch_indices(options_, ++epoch_);
      position_ = 0;
    }
    batch.push_back(indices_[position_++]);
  }
  return batch;
}

}  // namespace ddpprof::worker
