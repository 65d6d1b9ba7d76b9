#include "runner/worker/data/dataset.hpp"

#include <algorithm>
#include <stdexcept>

#include "runner/scenario/tensor_spec.hpp"
#include "runner/worker/data/structured.hpp"
#include "runner/worker/status.hpp"

namespace ddpprof::worker {
namespace {

at::Generator generator(std::uint64_t seed, std::uint64_t kind, std::uint64_t number) {
  return at::make_generator<at::CPUGeneratorImpl>(stream(seed, kind, number));
}

enum Stream : std::uint64_t { sample_stream = 1, pattern_stream = 2, teacher_stream = 3 };

}  // namespace

Dataset::Dataset(const scenario::Workload& workload) {
  const auto specs = scenario::input_specs(workload.model);
  std::int64_t sample_bytes = 0;
  for (const auto& spec : specs)
    sample_bytes += spec.elements() * (spec.type == scenario::TensorSpec::Type::int64 ? 8 : 4);
  if (is_structured(workload.model)) {
    auto made =
        make_structured(workload, std::clamp(pool_bytes / sample_bytes, std::int64_t{1}, workload.data.samples));
    inputs_ = std::move(made.inputs);
    targets_ = std::move(made.targets);
    return;
  }
  const auto& shape = specs.front().shape;
  const std::int64_t outputs = workload.model.outputs();
  std::int64_t features = 1;
  for (const auto extent : shape) features *= extent;
  const std::int64_t pool = std::min(workload.data.samples, std::max<std::int64_t>(1, pool_bytes / sample_bytes));
  const std::uint64_t seed = workload.data.seed;

  std::vector<std::int64_t> pool_shape{pool};
  pool_shape.insert(pool_shape.end(), shape.begin(), shape.end());
  inputs_ = {torch::empty(pool_shape)};
  auto rows = inputs_.front().view({pool, features});
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
  Batch batch;
  for (const auto& input : inputs_) batch.inputs.push_back(input.index_select(0, slots));
  batch.targets = targets_.index_select(0, slots);
  return batch;
}

torch::Tensor loss_of(scenario::LossKind kind, const torch::Tensor& output, const torch::Tensor& target) {
  switch (kind) {
    case scenario::LossKind::cross_entropy:
      if (target.is_floating_point() || target.dim() == 1) return torch::nn::functional::cross_entropy(output, target);
      // One label a token: output batch × tokens × classes. Targets of -100 are left out, as Python's are.
      return torch::nn::functional::cross_entropy(output.flatten(0, -2), target.flatten());
    case scenario::LossKind::mse:
      return torch::nn::functional::mse_loss(output, target);
    case scenario::LossKind::bce:
      return torch::nn::functional::binary_cross_entropy_with_logits(output, target);
    case scenario::LossKind::model:
      return output.dim() == 0 ? output : output.mean();
  }
  throw std::invalid_argument("unknown loss");
}

}  // namespace ddpprof::worker
