#include "runner/worker/data/dataset.hpp"

#include <stdexcept>
#include <utility>

namespace ddpprof::worker {
namespace {

Samples load(const scenario::Workload& workload) {
  switch (workload.data.source) {
    case scenario::DataSource::synthetic:
      return make_synthetic(workload);
    case scenario::DataSource::mnist:
      return read_mnist(workload);
    case scenario::DataSource::tensors:
      return read_tensors(workload);
  }
  throw std::invalid_argument("unknown data source");
}

// Returns channels × height × width of an image. Other data is one row: only scaling and normalisation apply to it.
std::vector<std::int64_t> plane_shape(const torch::Tensor& stored) {
  if (stored.dim() == 4) return {stored.size(1), stored.size(2), stored.size(3)};
  return {1, 1, stored.numel() / stored.size(0)};
}

}  // namespace

Dataset::Dataset(const scenario::Workload& workload) : samples_(load(workload)) {
  for (const auto& input : sample_format(workload).inputs) shapes_.push_back(input.shape);
  const bool augment = workload.data.transform == scenario::Transform::augment;
  const auto& first = samples_.inputs.front();
  if (augment && (first.dim() != 4 || first.scalar_type() == torch::kLong))
    throw DataError(
        "workload.data.transform: augment crops and flips images; expected samples of channels × height × "
        "width, found " +
        shape_text(first.sizes().slice(1).vec()));
  if (augment && !samples_.normalization) samples_.normalization = channel_statistics(first);
  for (const auto& stored : samples_.inputs) {
    const bool image = transforms_.empty();
    const bool normalize = image && samples_.normalization;
    transforms_.emplace_back();
    if ((image && augment) || normalize || stored.scalar_type() == torch::kByte)
      transforms_.back().emplace(plane_shape(stored), normalize ? samples_.normalization : std::nullopt,
                                 image && augment);
  }
}

Dataset::Batch Dataset::batch(const std::vector<std::int64_t>& indices) const {
  return batch(Picks{indices, std::vector<std::uint64_t>(indices.size()), 0});
}

Dataset::Batch Dataset::batch(const Picks& picks) const {
  const auto count = static_cast<std::int64_t>(picks.indices.size());
  auto slots = torch::empty({count}, torch::kLong);
  auto* slot = slots.mutable_data_ptr<std::int64_t>();
  std::vector<std::int64_t> rows(picks.indices.size());
  for (std::size_t i = 0; i < rows.size(); ++i) slot[i] = rows[i] = picks.indices[i] % pool_size();
  Batch batch;
  for (std::size_t i = 0; i < samples_.inputs.size(); ++i) {
    const auto& stored = samples_.inputs[i];
    auto input = transforms_[i] ? transforms_[i]->apply(stored, rows, picks.streams) : stored.index_select(0, slots);
    std::vector<std::int64_t> shape{count};
    shape.insert(shape.end(), shapes_[i].begin(), shapes_[i].end());
    batch.inputs.push_back(input.view(shape));
  }
  batch.targets = samples_.targets.index_select(0, slots);
  return batch;
}

std::vector<double> Dataset::balancing_weights() const {
  if (samples_.targets.dim() != 1 || samples_.targets.scalar_type() != torch::kLong)
    throw DataError("workload.data.sampling: balanced needs one class a sample");
  if (samples() > scenario::Data::most_weighted_samples)
    throw DataError("workload.data.sampling: balanced draws with torch.multinomial, which takes at most " +
                    std::to_string(scenario::Data::most_weighted_samples) + " samples; found " +
                    std::to_string(samples()) + ": set workload.data.samples");
  const auto rows = samples_.targets.contiguous();
  const auto* labels = rows.const_data_ptr<std::int64_t>();
  const auto pool = static_cast<std::size_t>(pool_size());
  std::vector<std::int64_t> counts(static_cast<std::size_t>(rows.max().item<std::int64_t>()) + 1);
  const auto all = static_cast<std::size_t>(samples());
  for (std::size_t i = 0; i < all; ++i) ++counts[static_cast<std::size_t>(labels[i % pool])];
  std::vector<double> weights(all);
  for (std::size_t i = 0; i < all; ++i)
    weights[i] = 1.0 / static_cast<double>(counts[static_cast<std::size_t>(labels[i % pool])]);
  return weights;
}

torch::Tensor loss_of(scenario::LossKind kind, const torch::Tensor& output, const torch::Tensor& target) {
  switch (kind) {
    case scenario::LossKind::cross_entropy:
      if (target.is_floating_point() || target.dim() == 1) return torch::nn::functional::cross_entropy(output, target);
      // Several classes per sample; targets of -100 are ignored, as in Python. Classes are in the last dimension, as
      // in language models, or in the second, as Python's cross_entropy requires.
      if (output.dim() == target.dim() + 1) {
        if (output.sizes().slice(0, target.dim()) == target.sizes())
          return torch::nn::functional::cross_entropy(output.flatten(0, -2), target.flatten());
        if (output.size(0) == target.size(0) && output.sizes().slice(2) == target.sizes().slice(1))
          return torch::nn::functional::cross_entropy(output, target);
      }
      throw DataError("workload.loss: cross_entropy of an output of " + shape_text(output.sizes().vec()) +
                      " and targets of " + shape_text(target.sizes().vec()) +
                      "; expected the output to be the targets' shape with the classes as last or as second dimension");
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
