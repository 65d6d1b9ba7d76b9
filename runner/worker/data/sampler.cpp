#include "runner/worker/data/sampler.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include "runner/worker/data/random_stream.hpp"
#include "runner/worker/torch.hpp"

namespace ddpprof::worker {
namespace {

at::Tensor weighted_order(const SamplerOptions& options, std::int64_t count, const at::Generator& generator) {
  constexpr std::int64_t most = std::int64_t{1} << 24;
  if (static_cast<std::int64_t>(options.weights.size()) != options.samples || options.samples > most)
    throw std::invalid_argument("sampler: expected one weight for each of at most " + std::to_string(most) +
                                " samples, found " + std::to_string(options.weights.size()) + " for " +
                                std::to_string(options.samples));
  const at::Tensor weights = at::tensor(at::ArrayRef<double>(options.weights), at::kDouble);
  return at::multinomial(weights, count, /*replacement=*/true, generator);
}

}  // namespace

std::int64_t samples_per_rank(const SamplerOptions& options) {
  const std::int64_t n = options.samples, ranks = options.replicas;
  if (n < 1 || ranks < 1 || options.rank < 0 || options.rank >= ranks)
    throw std::invalid_argument("sampler: expected samples >= 1 and 0 <= rank < replicas");
  const auto ceil_divide = [](std::int64_t a, std::int64_t b) { return (a + b - 1) / b; };
  if (!options.drop_last || n % ranks == 0) return ceil_divide(n, ranks);
  return n < ranks ? 0 : ceil_divide(n - ranks, ranks);
}

std::vector<std::int64_t> epoch_indices(const SamplerOptions& options, std::int64_t epoch) {
  const std::int64_t own = samples_per_rank(options);
  // Only the order of the whole set has the size of the set, which may be 10^9 samples.
  at::Tensor drawn;
  if (own > 0 && (options.shuffle || !options.weights.empty())) {
    const auto generator = at::make_generator<at::CPUGeneratorImpl>(options.seed + static_cast<std::uint64_t>(epoch));
    drawn = options.weights.empty() ? at::randperm(options.samples, generator, at::TensorOptions(at::kLong))
                                    : weighted_order(options, own * options.replicas, generator);
  }
  const std::int64_t* order = drawn.defined() ? drawn.const_data_ptr<std::int64_t>() : nullptr;
  const std::int64_t length = drawn.defined() ? drawn.numel() : options.samples;
  std::vector<std::int64_t> mine(static_cast<std::size_t>(options.whole ? own * options.replicas : own));
  const std::int64_t first = options.whole ? 0 : options.rank;
  for (std::size_t j = 0; j < mine.size(); ++j) {
    const std::int64_t place = (first + static_cast<std::int64_t>(j) * options.takers()) % length;
    mine[j] = order ? order[place] : place;
  }
  return mine;
}

BatchSampler::BatchSampler(SamplerOptions options, std::int64_t batch)
    : options_(std::move(options)), batch_(batch), indices_(order()) {
  if (indices_.empty())
    throw std::invalid_argument("data.samples (" + std::to_string(options_.samples) +
                                ") with drop_last leaves nothing for " + std::to_string(options_.replicas) +
                                " ranks; raise data.samples or unset data.drop_last");
}

std::vector<std::int64_t> BatchSampler::order() const {
  return epoch_indices(options_, options_.set_epoch ? epoch_ : 0);
}

Picks BatchSampler::next() {
  Picks picks;
  picks.indices.reserve(static_cast<std::size_t>(batch_));
  picks.streams.reserve(static_cast<std::size_t>(batch_));
  while (static_cast<std::int64_t>(picks.indices.size()) < batch_) {
    if (position_ == indices_.size()) {
      ++epoch_;
      indices_ = order();
      position_ = 0;
    }
    const std::uint64_t place = static_cast<std::uint64_t>(options_.whole ? 0 : options_.rank) +
                                position_ * static_cast<std::uint64_t>(options_.takers());
    // Uses the real epoch, also without set_epoch: a missing set_epoch repeats the order, not the random choices.
    const std::uint64_t epoch = random_stream(options_.seed, StreamKind::epoch, static_cast<std::uint64_t>(epoch_));
    picks.streams.push_back(random_stream(epoch, StreamKind::place, place));
    picks.indices.push_back(indices_[position_++]);
  }
  picks.epoch = epoch_;
  picks.position = static_cast<std::int64_t>(position_);
  return picks;
}

void BatchSampler::seek(std::int64_t epoch, std::int64_t position) {
  if (epoch < 0 || position < 0) throw std::invalid_argument("sampler: expected an epoch and a position of 0 or more");
  epoch_ = epoch;
  indices_ = order();
  position_ = std::min(static_cast<std::size_t>(position), indices_.size());
}

}  // namespace ddpprof::worker
