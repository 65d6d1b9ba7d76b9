// Writes a training's checkpoints between its steps, while the other ranks wait.
#pragma once

#include <filesystem>
#include <optional>

#include "runner/worker/checkpoint/checkpoint.hpp"
#include "runner/worker/loop/context.hpp"

namespace ddpprof::worker {

// checkpoint.folder/<strategy>-<workers>.pt, replaced whole each time; rank 0 writes it. Does nothing when the scenario
// names no folder. All three throw on every rank or on rank 0 alone; the others then notice its end.
class CheckpointSaver {
 public:
  // Makes the folder. Throws scenario::DataError when that fails: before anything was trained.
  CheckpointSaver(const Context& context, Group* group);

  // True when one was due, so that some time has passed. Throws std::runtime_error when it cannot be written.
  bool after_step(const Network&, const torch::optim::Optimizer&, const Progress&);
  void at_end(const Network&, const torch::optim::Optimizer&, const Progress&);

  const std::filesystem::path& path() const { return path_; }  // empty: none are written

 private:
  void save(const Network&, const torch::optim::Optimizer&, const Progress&);

  const Context& context_;
  Group* group_;
  std::filesystem::path path_;
  std::optional<std::int64_t> saved_steps_;
};

}  // namespace ddpprof::worker
