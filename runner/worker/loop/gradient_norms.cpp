#include "runner/worker/loop/gradient_norms.hpp"

#include "runner/worker/annotate.hpp"

namespace ddpprof::worker {
namespace {

constexpr std::int64_t row = 16384;

torch::Tensor sum_of_rows(const torch::Tensor& rows) {
  return at::linalg_vector_norm(rows, 2, at::IntArrayRef{1}, false, at::kFloat).to(at::kDouble).square().sum();
}

double total(const std::vector<torch::Tensor>& parts) {
  return parts.empty() ? 0.0 : torch::stack(parts).sum().item<double>();
}

// Adds the sums of all buckets. Parameters without a gradient add nothing.
std::vector<torch::Tensor> squared_gradients(const Network& network) {
  std::vector<torch::Tensor> parts;
  for (const torch::Tensor& parameter : trainable_parameters(network))
    if (parameter.grad().defined()) parts.push_back(squared_norm(parameter.grad()));
  return parts;
}

}  // namespace

torch::Tensor squared_norm(const torch::Tensor& tensor) {
  const torch::NoGradGuard no_grad;
  const torch::Tensor flat = tensor.detach().reshape({-1});
  const std::int64_t rows = flat.numel() / row;
  const torch::Tensor rest = flat.slice(0, rows * row).unsqueeze(0);
  const torch::Tensor sum = sum_of_rows(rest);
  return rows == 0 ? sum : sum + sum_of_rows(flat.slice(0, 0, rows * row).view({rows, row}));
}

GradientNorms::GradientNorms(const Context& context, Group& group, bool every_step)
    : group_(group),
      every_step_(every_step),
      every_(context.scenario.measure.gradient_noise_every),
      alone_(context.environment.world_size == 1),
      parts_(static_cast<double>(alone_ ? context.scenario.workload.accumulation : context.environment.world_size)) {
  if ((every_ == 0 && !every_step_) || alone_) return;
  group_.backend->watch_gradient_buckets([this](const at::Tensor& bucket) {
    if (taking_) local_.push_back(squared_norm(bucket));
  });
}

GradientNorms::~GradientNorms() { group_.backend->watch_gradient_buckets({}); }

void GradientNorms::begin(std::int64_t step) {
  const bool asked = every_step_ || (every_ > 0 && step % every_ == 0 && annotate::attached());
  taking_ = asked && parts_ > 1.0;
  local_.clear();
}

void GradientNorms::after_micro_batch(Network& network, std::int64_t micro_batch) {
  if (taking_ && alone_ && micro_batch == 0) local_ = squared_gradients(network);
}

std::optional<StepNorms> GradientNorms::end(Network& network) {
  if (!taking_) return std::nullopt;
  taking_ = false;
  const StepNorms norms{parts_ * parts_ * total(local_), total(squared_gradients(network))};
  annotate::gradient_norms(norms.local_sqr, norms.whole_sqr);
  return norms;
}

}  // namespace ddpprof::worker
