// Writes the checkpoints of a training between its steps, while the other ranks wait.
#pragma once

#include <filesystem>
#include <optional>

#include "runner/worker/checkpoint/checkpoint.hpp"
#include "runner/worker/loop/context.hpp"

namespace ddpprof::worker {

// Rank 0 writes checkpoint.folder/<strategy>-<workers>.pt; each checkpoint replaces the file in one step. Does nothing
// if the scenario sets no folder. The functions throw on every rank, or on rank 0 alone; then the other ranks detect
// that rank 0 ended.
class CheckpointSaver {
 public:
  // Makes the folder. Throws scenario::DataError if that fails, before any training step.
  CheckpointSaver(const Context& context, Group* group);

  // Returns true if after_step() with the same progress writes a checkpoint. Does not apply to at_end().
  bool due(const Progress&) const;
  // Returns true if a checkpoint was due: then this call took time. Throws std::runtime_error if the file cannot be
  // written.
  bool after_step(const Network&, const torch::optim::Optimizer&, const Progress&);
  void at_end(const Network&, const torch::optim::Optimizer&, const Progress&);

  const std::filesystem::path& path() const { return path_; }  // empty if no checkpoints are written

 private:
  void save(const Network&, const torch::optim::Optimizer&, const Progress&);

  const Context& context_;
  Group* group_;
  std::filesystem::path path_;
  std::optional<std::int64_t> saved_steps_;
};

}  // namespace ddpprof::worker
