#include "runner/worker/loop/step_loop.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>

#include "runner/worker/annotate.hpp"
#include "runner/worker/status.hpp"

namespace ddpprof::worker {

using annotate::Name;
using annotate::Range;
using vocabulary::StepKind;

namespace {

// The process of DataParallel takes the samples of all N ranks, so that both strategies train the same global batches.
BatchSampler make_sampler(const Context& context, const Dataset& dataset, const Progress& begin) {
  const auto& workload = context.scenario.workload;
  const auto& data = workload.data;
  const bool dp = context.strategy == scenario::Strategy::dp;
  SamplerOptions options;
  options.samples = dataset.samples();
  options.replicas = context.workers();
  options.rank = dp ? 0 : context.environment.rank;
  options.whole = dp;
  options.shuffle = data.shuffle;
  options.drop_last = data.drop_last;
  options.seed = data.seed;
  options.set_epoch = data.set_epoch;
  const std::int64_t batch = workload.batch_per_worker;
  if (const std::int64_t share = samples_per_rank(options); share < batch)
    throw DataError("workload.batch_per_worker: with N = " + std::to_string(options.replicas) + " each worker gets " +
                    std::to_string(share) + " of " + std::to_string(options.samples) +
                    " samples, which fill no batch of " + std::to_string(batch) +
                    "; expected fewer workers, a smaller batch or more samples");
  if (data.sampling == scenario::Sampling::balanced) options.weights = dataset.balancing_weights();
  const std::int64_t takers = options.takers();
  BatchSampler sampler(std::move(options), batch * (dp ? context.replicas : 1));
  if (begin.epoch != 0 || begin.position != 0) sampler.seek(begin.epoch, begin.position / takers);
  return sampler;
}

// Copies a batch to page-locked memory, from which the copy to a GPU is asynchronous.
Dataset::Batch page_locked(Dataset::Batch batch) {
  for (auto& input : batch.inputs) input = input.pin_memory();
  batch.targets = batch.targets.pin_memory();
  return batch;
}

Loader make_loader(const Context& context, std::shared_ptr<const Dataset> dataset, const Progress& begin) {
  const auto& data = context.scenario.workload.data;
  auto sampler = make_sampler(context, *dataset, begin);
  const bool pins = context.device.is_cuda() && context.scenario.measure.sync == scenario::DeviceSync::never;
  // The loader's threads share the data set, so that a thread that hangs never uses freed memory.
  return {[shared = std::move(dataset), pins](const Picks& picks) {
            return pins ? page_locked(shared->batch(picks)) : shared->batch(picks);
          },
          std::move(sampler),
          {data.loader_threads, data.prefetch, context.timeout()}};
}

// Each unread loss is a tensor on the device. A training that has diverged ends at most this many steps later.
constexpr std::size_t most_unread_losses = 1000;

// After a loss that is not finite, all parameters on all ranks are invalid, and later steps do not measure a training.
// `which`: "" or " of step 17".
void check_finite(double loss, const std::string& which) {
  if (!std::isfinite(loss))
    throw std::runtime_error("the loss" + which + " is " + std::to_string(loss) +
                             ": expected a finite number; lower learning_rate.base, or look for values in the data of "
                             "this step that are not finite");
}

// Copies a tensor to the device. `wait`: returns when the copy, and all earlier work of the stream, is done. Otherwise
// the copy is only enqueued, if the tensor is in page-locked memory.
torch::Tensor to_device(const torch::Tensor& tensor, torch::Device device, bool wait) {
  return tensor.to(device, tensor.scalar_type(), /*non_blocking=*/!wait);
}

}  // namespace

StepLoop::StepLoop(const Context& context, std::shared_ptr<const Dataset> dataset, Dump* dump, const Progress& begin)
    : context_(context),
      dump_(dump),
      loader_(make_loader(context, std::move(dataset), begin)),
      progress_(begin),
      first_epoch_(begin.epoch) {}

void StepLoop::run(Trainer& trainer, torch::optim::Optimizer& optimizer, StepKind kind, std::int64_t steps,
                   std::vector<std::int64_t>& durations) {
  std::int64_t begin = monotonic_ns();
  for (std::int64_t i = 0; i < steps; ++i) {
    if (kind == StepKind::measured && over()) break;
    step(trainer, optimizer, kind);
    const std::int64_t end = monotonic_ns();
    durations.push_back(end - begin);
    bool uncharged = between_steps_ && between_steps_(progress_);
    if (unread_losses_.size() >= most_unread_losses) {
      read_losses();
      uncharged = true;
    }
    begin = uncharged ? monotonic_ns() : end;
  }
  if (context_.annotate_in_turn) annotate::pause(false);
}

void StepLoop::step(Trainer& trainer, torch::optim::Optimizer& optimizer, StepKind kind) {
  const auto& workload = context_.scenario.workload;
  const std::int64_t micro_batches = workload.accumulation;
  const bool dp = context_.strategy == scenario::Strategy::dp;
  const std::int64_t samples = workload.batch_per_worker * micro_batches * (dp ? context_.replicas : 1);
  const std::int64_t number = next_step_++;
  if (context_.annotate_in_turn) annotate::pause(number % 4 == 1 || number % 4 == 2);
  const Range step(Name::step,
                   vocabulary::StepInfo{number, static_cast<std::int32_t>(kind), static_cast<std::int32_t>(samples)});
  const bool plain = kind == StepKind::unwrapped;
  if (norms_) norms_->begin(number);
  torch::Tensor loss;
  for (std::int64_t micro = 0; micro < micro_batches; ++micro) {
    status::set(plain ? status::Activity::unwrapped_step : status::Activity::data_wait, number);
    Dataset::Batch batch;
    {
      const Range range(Name::data_wait);
      auto item = loader_.next();
      epochs_ = std::max(epochs_, item.picks.epoch + 1 - first_epoch_);
      progress_.epoch = item.picks.epoch;
      progress_.position = item.picks.position * (dp ? 1 : context_.environment.world_size);
      batch = std::move(item.batch);
      if (dump_) dump_->batch(number, item.picks.indices, batch.inputs, batch.targets);
    }
    if (context_.device.is_cuda()) {
      const Range range(Name::host_to_device);
      for (auto& input : batch.inputs) input = to_device(input, context_.device, waits_for_device());
      batch.targets = to_device(batch.targets, context_.device, waits_for_device());
    }
    const auto part = trainer.pass(batch, micro + 1 == micro_batches, static_cast<double>(micro_batches));
    if (norms_) norms_->after_micro_batch(trainer.network(), micro);
    loss = loss.defined() ? loss + part : part;
  }
  const std::optional<StepNorms> norms = norms_ ? norms_->end(trainer.network()) : std::nullopt;
  if (dump_) dump_->gradients(number, trainer.network());
  if (rate_) {
    const double rate = rate_(progress_, norms);
    for (auto& group : optimizer.param_groups()) group.options().set_lr(rate);
  }
  if (!plain) status::set(status::Activity::optimizer);
  annotate::learning_rate(optimizer.param_groups().front().options().get_lr());
  {
    const Range range(Name::optimizer);
    optimizer.step();
    trainer.zero_gradients();
  }
  ++progress_.steps;
  if (!waits_for_device()) return unread_losses_.push_back(loss);
  // On a GPU this waits for the device, so that the step ends with its work.
  losses_.push_back(loss.item<double>());
  annotate::loss(losses_.back());
  check_finite(losses_.back(), "");
}

void StepLoop::read_losses() {
  if (unread_losses_.empty()) return;
  const torch::Tensor losses = torch::stack(unread_losses_).to(torch::kCPU).to(torch::kDouble);
  const std::int64_t first = next_step_ - static_cast<std::int64_t>(unread_losses_.size());
  unread_losses_.clear();
  for (std::int64_t i = 0; i < losses.size(0); ++i) {
    losses_.push_back(losses[i].item<double>());
    check_finite(losses_.back(), " of step " + std::to_string(first + i));
  }
}

}  // namespace ddpprof::worker
