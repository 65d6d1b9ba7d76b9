#include <algorithm>
#include <cmath>

#include "runner/scenario/tensor_spec.hpp"
#include "runner/worker/data/random_stream.hpp"
#include "runner/worker/data/samples.hpp"
#include "runner/worker/data/structured.hpp"
#include "runner/worker/status.hpp"

namespace ddpprof::worker {
namespace {

at::Generator generator(std::uint64_t seed, StreamKind kind, std::uint64_t number) {
  return at::make_generator<at::CPUGeneratorImpl>(random_stream(seed, kind, number));
}

// Maps a uniform 64-bit number to a class.
class Classes {
 public:
  // The first class is `imbalance` times as probable as the last. The others form a geometric series between them (the
  // long-tailed profile of Cui et al. 2019, "Class-Balanced Loss").
  Classes(std::int64_t count, double imbalance) : count_(count) {
    if (imbalance == 1.0) return;
    double sum = 0.0;
    for (std::int64_t c = 0; c < count; ++c) {
      const double along = count > 1 ? static_cast<double>(c) / static_cast<double>(count - 1) : 0.0;
      edges_.push_back(sum += std::pow(imbalance, -along));
    }
    for (double& edge : edges_) edge /= sum;
  }
  std::int64_t of(std::uint64_t number) const {
    if (edges_.empty()) return static_cast<std::int64_t>(number % static_cast<std::uint64_t>(count_));
    const double uniform = static_cast<double>(number >> 11) * 0x1p-53;
    const auto edge = std::upper_bound(edges_.begin(), edges_.end(), uniform);
    return std::min<std::int64_t>(edge - edges_.begin(), count_ - 1);
  }

 private:
  std::int64_t count_;
  std::vector<double> edges_;
};

std::int64_t spec_bytes(const scenario::TensorSpec& spec) {
  return spec.elements() * (spec.type == scenario::TensorSpec::Type::int64 ? 8 : 4);
}

}  // namespace

SampleFormat sample_format(const scenario::Workload& workload) {
  using scenario::TensorSpec;
  SampleFormat format;
  const auto input_format = [](const TensorSpec& spec) {
    return InputFormat{spec.shape, spec.type == TensorSpec::Type::int64 ? torch::kLong : torch::kFloat, spec.below};
  };
  for (const auto& input : scenario::input_specs(workload.model)) format.inputs.push_back(input_format(input));
  const auto target = scenario::target_spec(workload.model, workload.loss);
  format.target = target.shape;
  format.outputs = target.type == TensorSpec::Type::int64 ? target.below : target.elements();
  format.loss = workload.loss;
  format.classes = target.type == TensorSpec::Type::int64;
  if (workload.loss == scenario::LossKind::model) format.inputs.push_back(input_format(target));
  return format;
}

Samples make_synthetic(const scenario::Workload& workload) {
  const SampleFormat format = sample_format(workload);
  const auto shape = workload.data.image.value_or(format.inputs.front().shape);
  std::int64_t features = 1;
  for (const auto extent : shape) features *= extent;
  Samples samples;
  samples.count = workload.data.known_samples().value_or(scenario::Data::synthetic_samples);
  if (is_structured(workload.model)) {
    std::int64_t sample_bytes = spec_bytes(scenario::target_spec(workload.model, workload.loss));
    for (const auto& spec : scenario::input_specs(workload.model)) sample_bytes += spec_bytes(spec);
    const std::int64_t most = std::max<std::int64_t>(1, synthetic_pool_bytes / sample_bytes);
    auto made = make_structured(workload, std::min(samples.count, most));
    samples.inputs = std::move(made.inputs);
    samples.targets = std::move(made.targets);
    return samples;
  }
  const std::int64_t sample_bytes =
      features * std::int64_t{sizeof(float)} + spec_bytes(scenario::target_spec(workload.model, workload.loss));
  const std::int64_t fit = std::max<std::int64_t>(1, synthetic_pool_bytes / sample_bytes);
  const std::int64_t pool = std::min(samples.count, fit);
  const std::uint64_t seed = workload.data.seed;

  std::vector<std::int64_t> pool_shape{pool};
  pool_shape.insert(pool_shape.end(), shape.begin(), shape.end());
  samples.inputs.push_back(torch::empty(pool_shape));
  auto rows = samples.inputs.front().view({pool, features});
  const bool classify = workload.loss == scenario::LossKind::cross_entropy;
  const Classes classes(format.outputs, workload.data.imbalance);
  torch::Tensor teacher;
  if (classify) {
    samples.targets = torch::empty({pool}, torch::kLong);
  } else {
    auto source = generator(seed, StreamKind::teacher, 0);
    teacher = torch::randn({features, format.outputs}, source) / std::sqrt(static_cast<double>(features));
    samples.targets = torch::empty({pool, format.outputs});
  }
  for (std::int64_t i = 0; i < pool; ++i) {
    if (i % 4096 == 0) status::set(status::Activity::building_model);  // reports progress: a large data set takes long
    const auto number = static_cast<std::uint64_t>(i);
    auto source = generator(seed, StreamKind::sample, number);
    auto row = rows[i];
    row.normal_(0.0, 1.0, source);
    if (classify) {
      const std::int64_t label = classes.of(random_stream(seed, StreamKind::sample, number));
      samples.targets[i] = label;
      auto pattern_source = generator(seed, StreamKind::pattern, static_cast<std::uint64_t>(label));
      row.add_(torch::randn({features}, pattern_source), 0.5);
    }
  }
  if (!classify) at::mm_out(samples.targets, rows, teacher);
  if (workload.loss == scenario::LossKind::bce) samples.targets.copy_(samples.targets.gt(0.0));  // yes or no
  return samples;
}

}  // namespace ddpprof::worker
