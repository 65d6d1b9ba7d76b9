#include "runner/worker/checkpoint/saver.hpp"

#include <system_error>

#include "runner/scenario/input_files.hpp"
#include "runner/worker/annotate.hpp"
#include "runner/worker/process_group/agreement.hpp"
#include "runner/worker/status.hpp"

namespace ddpprof::worker {

CheckpointSaver::CheckpointSaver(const Context& context, Group* group) : context_(context), group_(group) {
  const std::filesystem::path folder = context.scenario.checkpoint.folder;
  if (folder.empty()) return;
  path_ = folder / (std::string(scenario::to_string(context.strategy)) + "-" + std::to_string(context.workers()) + ".pt");
  if (context.environment.rank != 0) return;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error || !std::filesystem::is_directory(folder))
    throw scenario::DataError("checkpoint.folder: " + folder.string() + ": cannot be made: " +
                              (error ? error.message() : "something else has that name"));
}

bool CheckpointSaver::after_step(const Network& network, const torch::optim::Optimizer& optimizer,
                                 const Progress& progress) {
  const auto every = context_.scenario.checkpoint.every_steps;
  if (path_.empty() || !every || progress.steps % *every != 0) return false;
  save(network, optimizer, progress);
  return true;
}

void CheckpointSaver::at_end(const Network& network, const torch::optim::Optimizer& optimizer,
                             const Progress& progress) {
  if (!path_.empty() && saved_steps_ != progress.steps) save(network, optimizer, progress);
}

void CheckpointSaver::save(const Network& network, const torch::optim::Optimizer& optimizer, const Progress& progress) {
  const annotate::Range range(annotate::Name::checkpoint);
  if (context_.environment.rank == 0) {
    status::set(status::Activity::checkpoint);
    save_checkpoint(path_, network, optimizer, context_.scenario.workload.optimizer.kind, progress);
  }
  saved_steps_ = progress.steps;
  meet(group_);  // or the others would wait in their next step
}

}  // namespace ddpprof::worker
