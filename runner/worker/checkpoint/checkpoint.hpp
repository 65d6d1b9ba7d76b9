// Checkpoints: one file with model, optimizer and progress, from which a training continues here or in Python.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "runner/scenario/scenario.hpp"
#include "runner/worker/models/network.hpp"
#include "runner/worker/torch.hpp"
#include "simulator/learning_rate/adascale.hpp"

namespace ddpprof::worker {

// The progress of a training, independent of the number of workers.
struct Progress {
  std::int64_t steps = 0;                                // optimizer steps
  std::int64_t epoch = 0;                                // current epoch of the sampler, from 0
  std::int64_t position = 0;                             // samples of this epoch that all workers together have taken
  std::optional<learning_rate::AdaScaleState> adascale;  // set if the training uses AdaScale
};

// Returns the value that torch.load returns for the file: {"format": "ddpprof checkpoint 1", "workload": label,
// "model": state_dict, "optimizer_kind": "sgd", "optimizer": state_dict, "step", "epoch", "position": integers,
// "random": the state of the CPU's default generator, for torch.set_rng_state}. A training with AdaScale adds
// "adascale": {"steps", "base_steps", "base_batch", "gradient_sqr", "trace_samples"}. The value shares the memory of
// the tensors.
c10::IValue make_checkpoint(const Network& network, const torch::optim::Optimizer& optimizer,
                            scenario::OptimizerKind kind, const Progress& progress);

// A checkpoint from which a training continues. All functions throw scenario::DataError, which names the file and what
// does not fit.
class Checkpoint {
 public:
  explicit Checkpoint(std::filesystem::path path);  // reads the file
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
