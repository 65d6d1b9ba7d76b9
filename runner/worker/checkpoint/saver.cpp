#include "runner/worker/checkpoint/saver.hpp"

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <stdexcept>
#include <system_error>
#include <thread>

#include "runner/scenario/input_files.hpp"
#include "runner/worker/annotate.hpp"
#include "runner/worker/process_group/agreement.hpp"
#include "runner/worker/status.hpp"
#include "runner/worker/torch_file.hpp"

namespace ddpprof::worker {
namespace {

constexpr std::chrono::milliseconds slice{500};

// Writes a file on its own thread. If the disk hangs, the thread is left running.
class Writing {
 public:
  Writing(const std::filesystem::path& path, const c10::IValue& value, std::chrono::milliseconds limit)
      : state_(std::make_shared<State>()), written_(state_->written.get_future()), path_(path), limit_(limit) {
    std::thread([state = state_, path, value] {
      try {
        write_torch_file(path, value, [&] { state->moved_ns = monotonic_ns(); });
        state->written.set_value();
      } catch (...) {
        state->written.set_exception(std::current_exception());
      }
    }).detach();
  }

  // Waits a moment. Throws std::runtime_error if no byte was written for `limit`.
  bool done() const {
    if (written_.wait_for(slice) == std::future_status::ready) return true;
    if (monotonic_ns() - state_->moved_ns > std::chrono::nanoseconds(limit_).count())
      throw std::runtime_error("cannot write " + path_.string() + ": nothing was written for " +
                               std::to_string(limit_.count()) + " ms (measure.timeout_s); is the disk there?");
    return false;
  }
  void finish() { written_.get(); }  // rethrows the error of the thread

 private:
  struct State {
    std::promise<void> written;
    std::atomic<std::int64_t> moved_ns = monotonic_ns();
  };
  std::shared_ptr<State> state_;
  std::future<void> written_;
  std::filesystem::path path_;
  std::chrono::milliseconds limit_;
};

}  // namespace

CheckpointSaver::CheckpointSaver(const Context& context, Group* group) : context_(context), group_(group) {
  const std::filesystem::path folder = context.scenario.checkpoint.folder;
  if (folder.empty()) return;
  path_ = scenario::checkpoint_path(context.scenario.checkpoint, context.strategy, context.workers());
  if (context.environment.rank != 0) return;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error || !std::filesystem::is_directory(folder))
    throw scenario::DataError("checkpoint.folder: " + folder.string() +
                              ": cannot be made: " + (error ? error.message() : "something else has that name"));
}

bool CheckpointSaver::due(const Progress& progress) const {
  const auto every = context_.scenario.checkpoint.every_steps;
  return !path_.empty() && every && progress.steps % *every == 0;
}

bool CheckpointSaver::after_step(const Network& network, const torch::optim::Optimizer& optimizer,
                                 const Progress& progress) {
  if (!due(progress)) return false;
  save(network, optimizer, progress);
  return true;
}

void CheckpointSaver::at_end(const Network& network, const torch::optim::Optimizer& optimizer,
                             const Progress& progress) {
  if (!path_.empty() && saved_steps_ != progress.steps) save(network, optimizer, progress);
}

void CheckpointSaver::save(const Network& network, const torch::optim::Optimizer& optimizer, const Progress& progress) {
  const annotate::Range range(annotate::Name::checkpoint);
  saved_steps_ = progress.steps;
  std::optional<Writing> writing;
  if (context_.environment.rank == 0) {
    const auto kind = context_.scenario.workload.optimizer.kind;
    writing.emplace(path_, make_checkpoint(network, optimizer, kind, progress), context_.timeout());
  }
  // The other ranks wait here instead of in their next step. They wait in slices, since a slow disk may take longer
  // than the timeout of a collective.
  bool done = false;
  do {
    status::set(status::Activity::checkpoint);
    done = writing && writing->done();
  } while (!agree(group_, done));
  if (writing) writing->finish();
}

}  // namespace ddpprof::worker
