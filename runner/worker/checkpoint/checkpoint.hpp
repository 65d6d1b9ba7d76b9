// One file that a training goes on from, here or in Python: model, optimizer, and how far the data was read.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "runner/scenario/scenario.hpp"
#include "runner/worker/models/network.hpp"
#include "runner/worker/torch.hpp"
#include "simulator/learning_rate/adascale.hpp"

namespace ddpprof::worker {

// How far a training has come, in terms that do not depend on the number of workers.
struct Progress {
  std::int64_t steps = 0;     // of the optimizer
  std::int64_t epoch = 0;     // that the sampler is in, from 0
  std::int64_t position = 0;  // samples of that epoch's order that all workers together have taken
  std::optional<learning_rate::AdaScaleState> adascale;  // of a training by that rule
};

// What torch.load gives for the file: {"format": "ddpprof checkpoint 1", "workload": label, "model": state_dict,
// "optimizer_kind": "sgd", "optimizer": state_dict, "step", "epoch", "position": integers, "random": the state of the
// CPU's default generator, for torch.set_rng_state}; of a training by AdaScale also "adascale": {"steps", "base_steps",
// "base_batch", "gradient_sqr", "trace_samples"}. Shares the tensors' memory.
c10::IValue make_checkpoint(const Network& network, const torch::optim::Optimizer& optimizer,
                            scenario::OptimizerKind kind, const Progress& progress);

// A checkpoint to go on from. All throw scenario::DataError that names the file and what does not fit.
class Checkpoint {
 public:
  explicit Checkpoint(std::filesystem::path path);  // reads it
  const Progress& progress() const { return progress_; }
  void restore(const Network& network) const;
  void restore(torch::optim::Optimizer& optimizer, scenario::OptimizerKind kind) const;
  void restore_random() const;

 private:
  template <typename Work>
  auto guarded(const Work& work) const;

  std::filesystem::path path_;
  c10::IValue value_;
  Progress progress_;
};

}  // namespace ddpprof::worker
