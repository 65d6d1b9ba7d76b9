#include "runner/worker/annotate.hpp"
#include "runner/worker/loop/train.hpp"
#include "runner/worker/status.hpp"

namespace ddpprof::worker {

using annotate::Name;
using annotate::Range;
using vocabulary::StepKind;

namespace {

// DataParallel's one process takes what N ranks would take together, so that both train the same global batch.
BatchSampler make_sampler(const Context& context) {
  const auto& workload = context.scenario.workload;
  const bool dp = context.strategy == scenario::Strategy::dp;
  SamplerOptions options;
  options.samples = workload.data.samples;
  options.replicas = dp ? 1 : context.environment.world_size;
  options.rank = dp ? 0 : context.environment.rank;
  options.shuffle = workload.data.shuffle;
  options.drop_last = workload.data.drop_last;
  options.seed = workload.data.seed;
  return {options, workload.batch_per_worker * (dp ? context.replicas : 1)};
}

}  // namespace

StepLoop::StepLoop(const Context& context, const Dataset& dataset, Dump* dump)
    : context_(context), dataset_(dataset), dump_(dump), sampler_(make_sampler(context)) {}

void StepLoop::run(Trainer& trainer, torch::optim::Optimizer& optimizer, StepKind kind, std::int64_t steps,
                   std::vector<std::int64_t>& durations) {
  std::int64_t begin = monotonic_ns();
  for (std::int64_t i = 0; i < steps; ++i) {
    step(trainer, optimizer, kind);
    const std::int64_t end = monotonic_ns();
    durations.push_back(end - begin);
    begin = end;
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
  torch::Tensor loss;
  for (std::int64_t micro = 0; micro < micro_batches; ++micro) {
    status::set(plain ? status::Activity::unwrapped_step : status::Activity::data_wait, number);
    Dataset::Batch batch;
    {
      const Range range(Name::data_wait);
      const auto indices = sampler_.next();
      batch = dataset_.batch(indices);
      if (dump_) dump_->batch(number, indices, batch.inputs, batch.targets);
    }
    if (context_.device.is_cuda()) {
      const Range range(Name::host_to_device);
      for (auto& input : batch.inputs) input = input.to(context_.device);
      batch.targets = batch.targets.to(context_.device);
    }
    const auto part = trainer.pass(batch, micro + 1 == micro_batches, static_cast<double>(micro_batches));
    loss = loss.defined() ? loss + part : part;
  }
  if (dump_) dump_->gradients(number, trainer.network());
  if (!plain) status::set(status::Activity::optimizer);
  {
    const Range range(Name::optimizer);
    optimizer.step();
    trainer.zero_gradients();
  }
  // On a GPU this waits for the device, so the step ends when its work has ended.
  losses_.push_back(loss.item<double>());
  annotate::loss(losses_.back());
}

}  // namespace ddpprof::worker
