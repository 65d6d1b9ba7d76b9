// The loop over training steps: the next batch, one pass per micro-batch, the optimizer's step.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "runner/worker/checkpoint/checkpoint.hpp"
#include "runner/worker/data/loader.hpp"
#include "runner/worker/loop/context.hpp"
#include "runner/worker/loop/dump.hpp"
#include "runner/worker/loop/gradient_norms.hpp"
#include "runner/worker/loop/trainer.hpp"
#include "tracer/format/vocabulary.hpp"

namespace ddpprof::worker {

// Runs steps of one kind after another on one trainer. The ranges of consecutive steps adjoin.
class StepLoop {
 public:
  // The sampler starts at the position in `begin`. If the number of workers does not divide that position, the up to
  // workers - 1 samples before it are taken again.
  StepLoop(const Context& context, std::shared_ptr<const Dataset> dataset, Dump* dump, const Progress& begin = {});

  // Appends each step's duration to `durations` (ns, from the end of the previous step to the end of this one). With
  // measure.sync: never, a step ends when the host has launched it, and losses are read after 1000 steps; the losses of
  // the last steps stay unread until read_losses(). Throws std::runtime_error if a loss that was read is not finite.
  void run(Trainer& trainer, torch::optim::Optimizer& optimizer, vocabulary::StepKind kind, std::int64_t steps,
           std::vector<std::int64_t>& durations);
  void stop_dumping() { dump_ = nullptr; }
  // Returns the learning rate of the next optimizer step. Arguments: the progress of the training, steps before the
  // checkpoint included, which the function may change; the step's gradient norms, if they were measured. An empty
  // function keeps the optimizer's rate.
  using Rate = std::function<double(Progress&, const std::optional<StepNorms>&)>;
  void rate(Rate rate) { rate_ = std::move(rate); }
  // `over` is called before each measured step. It returns true, on all ranks alike, if training finished before all
  // planned steps ran.
  void over(std::function<bool()> over) { over_ = std::move(over); }
  bool over() const { return over_ && over_(); }
  void watch(GradientNorms* norms) { norms_ = norms; }  // null: norms are not measured; must outlive the steps
  // Called after each step. Returns true if this time must not be charged to a step.
  using BetweenSteps = std::function<bool(const Progress&)>;
  void between_steps(BetweenSteps call) { between_steps_ = std::move(call); }
  const Progress& progress() const { return progress_; }
  // With measure.sync: never, reads the unread losses, which waits for the device. Otherwise does nothing. Throws
  // std::runtime_error if a loss is not finite.
  void read_losses();
  // Returns the losses that were read since the previous call, one per step.
  std::vector<double> take_losses() { return std::exchange(losses_, {}); }
  std::int64_t epochs() const { return epochs_; }  // number of epochs from which the steps took samples

 private:
  void step(Trainer& trainer, torch::optim::Optimizer& optimizer, vocabulary::StepKind kind);
  bool waits_for_device() const { return context_.scenario.measure.sync == scenario::DeviceSync::every_step; }

  const Context& context_;
  Dump* dump_;
  Loader loader_;
  BetweenSteps between_steps_;
  Rate rate_;
  std::function<bool()> over_;
  GradientNorms* norms_ = nullptr;
  Progress progress_;
  std::int64_t first_epoch_;
  std::int64_t epochs_ = 0;
  std::int64_t next_step_ = 0;
  std::vector<double> losses_;
  std::vector<torch::Tensor> unread_losses_;  // of the last steps; empty if each step reads its loss
};

}  // namespace ddpprof::worker
