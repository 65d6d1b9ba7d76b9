#include "runner/worker/data/dataset.hpp"

#include <algorithm>
#include <stdexcept>

#include "runner/worker/models/network.hpp"
#include "runner/worker/status.hpp"

namespace ddpprof::worker {
namespace {

// SplitMix64 (Steele, Lea, Flood 2014): independent streams for (seed, kind, number).
std::uint64_t stream(std::uint64_t seed, std::uint64_t kind, std::uint64_t number) {
  std::uint64_t z = seed + 0x9e3779b97f4a7c15ULL * (1 + number) + 0xbf58476d1ce4e5b9ULL * kind;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

at::Generator generator(std::uint64_t seed, std::uint64_t kind, std::uint64_t number) {
  return at::make_generator<at::CPUGeneratorImpl>(stream(seed, kind, number));
}

enum Stream : std::uint64_t { sample_stream = 1, pattern_stream = 2, teacher_stream = 3 };

}  // namespace

Dataset::Dataset(const scenario::Workload& workload) {
  const auto shape = sample_shape(workload.model);
  const std::int64_t outputs = output_width(workload.model);
  std::int64_t features = 1;
  for (const auto extent : shape) features *= extent;
  const std::int64_t fit = std::max<std::int64_t>(1, pool_bytes / (features * std::int64_t{sizeof(float)}));
  const std::int64_t pool = std::min(workload.data.samples, fit);
  const std::uint64_t seed = workload.data.seed;

  std::vector<std::int64_t> pool_shape{pool};
  pool_shape.insert(pool_shape.end(), shape.begin(), shape.end());
  inputs_ = torch::empty(pool_shape);
  auto rows = inputs_.view({pool, features});
  const bool classify = workload.loss == scenario::LossKind::cross_entropy;
  torch::Tensor teacher;
  if (classify) {
    targets_ = torch::empty({pool}, torch::kLong);
  } else {
    auto source = generator(seed, teacher_stream, 0);
    teacher = torch::randn({features, outputs}, source) / std::sqrt(static_cast<double>(features));
    targets_ = torch::empty({pool, outputs});
  }
  for (std::int64_t i = 0; i < pool; ++i) {
    if (i % 4096 == 0) status::set(status::Activity::building_model);  // a large data set takes a while: no hang
    auto source = generator(seed, sample_stream, static_cast<std::uint64_t>(i));
    auto row = rows[i];
    row.normal_(0.0, 1.0, source);
    if (classify) {
      const auto label = static_cast<std::int64_t>(stream(seed, sample_stream, static_cast<std::uint64_t>(i)) %
                                                   static_cast<std::uint64_t>(outputs));
      targets_[i] = label;
      auto pattern_source = generator(seed, pattern_stream, static_cast<std::uint64_t>(label));
      row.add_(torch::randn({features}, pattern_source), 0.5);
    }
  }
  if (!classify) at::mm_out(targets_, rows, teacher);
}

Dataset::Batch Dataset::batch(const std::vector<std::int64_t>& indices) const {
  auto slots = torch::empty({static_cast<std::int64_t>(indices.size())}, torch::kLong);
  auto* slot = slots.mutable_data_ptr<std::int64_t>();
  for (std::size_t i = 0; i < indices.size(); ++i) slot[i] = indices[i] % pool_size();
  return {{inputs_.index_select(0, slots)}, targets_.index_select(0, slots)};
}

torch::Tensor loss_of(scenario::LossKind kind, const torch::Tensor& output, const torch::Tensor& target) {
  switch (kind) {
    case scenario::LossKind::cross_entropy:
      return torch::nn::functional::cross_entropy(output, target);
    case scenario::LossKind::mse:
      return torch::nn::functional::mse_loss(output, target);
  }
  throw std::invalid_argument("unknown loss");
}

}  // namespace ddpprof::worker
