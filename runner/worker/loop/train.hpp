// Trains: warm-up steps, measured steps until enough is known, then the same steps without DDP.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "runner/worker/checkpoint/checkpoint.hpp"
#include "runner/worker/data/loader.hpp"
#include "runner/worker/loop/context.hpp"
#include "runner/worker/loop/dump.hpp"
#include "runner/worker/loop/gradient_norms.hpp"
#include "runner/worker/loop/trainer.hpp"
#include "tracer/format/vocabulary.hpp"

namespace ddpprof::worker {

// Runs the scenario's training on this rank and returns its part of the result file. `group` is null for DataParallel
// and for one process without DDP. Without learning_rate.apply every step takes learning_rate.base: where a warm-up of
// the linear scaling rule starts at every N, and the steps measured here are its first.
nlohmann::json train(const Context& context, Group* group);

// Steps of one kind after another on one trainer; ranges of consecutive steps adjoin.
class StepLoop {
 public:
  // The sampler begins where `begin` says; when the number of workers does not divide its position, with the up to
  // workers - 1 samples before it.
  StepLoop(const Context& context, std::shared_ptr<const Dataset> dataset, Dump* dump, const Progress& begin = {});

  // Appends each step's duration (ns, from the end of the step before to its own) to `durations`.
  void run(Trainer& trainer, torch::optim::Optimizer& optimizer, vocabulary::StepKind kind, std::int64_t steps,
           std::vector<std::int64_t>& durations);
  void stop_dumping() { dump_ = nullptr; }
  // The rate of each optimizer step, by how far the training has come (the checkpoint's part included), which it may
  // add to, and the step's norms where they were taken; none: as it is.
  using Rate = std::function<double(Progress&, const std::optional<StepNorms>&)>;
  void rate(Rate rate) { rate_ = std::move(rate); }
  // Asked before each measured step, and answered alike on all ranks: whether the training is over before its steps
  // are.
  void over(std::function<bool()> over) { over_ = std::move(over); }
  bool over() const { return over_ && over_(); }
  void watch(GradientNorms* norms) { norms_ = norms; }  // null: nobody; must outlive its steps
  // Called after each step with how far the training has come; true: it took time, which is no step's.
  using BetweenSteps = std::function<bool(const Progress&)>;
  void between_steps(BetweenSteps call) { between_steps_ = std::move(call); }
  const Progress& progress() const { return progress_; }
  std::vector<double> take_losses() { return std::exchange(losses_, {}); }  // one a step since the last time
  std::int64_t epochs() const { return epochs_; }                           // that the steps so far took samples of

 private:
  void step(Trainer& trainer, torch::optim::Optimizer& optimizer, vocabulary::StepKind kind);

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
};

}  // namespace ddpprof::worker
