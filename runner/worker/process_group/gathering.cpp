#include "runner/worker/process_group/gathering.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <stdexcept>
#include <thread>

#include "runner/launcher/deadline.hpp"
#include "runner/launcher/exchange/gather.hpp"
#include "runner/worker/first_line.hpp"
#include "runner/worker/process_group/guard.hpp"

namespace ddpprof::worker {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds least_patience{
    30'000};  // a short timeout of a step must not limit closing a trace, or a slow disk
constexpr milliseconds shortest_key_pause{1}, longest_key_pause{100};  // between two checks for a key

// Each call to c10d has a timeout, also if rank 0's process is stopped and its store does not answer.
class StoreMailbox : public launcher::Mailbox {
 public:
  StoreMailbox(c10d::Store& store, std::string where) : store_(store), where_(std::move(where)) {}

  void put(const std::string& key, const std::string& value) override {
    const auto guard = end_after(milliseconds{0});
    store_.set(key, value);
  }
  std::optional<std::string> wait(const std::string& key, milliseconds limit) override {
    const auto guard = end_after(limit);
    const auto begin = std::chrono::steady_clock::now();
    while (!store_.check({key})) {  // the store's own wait prints a warning if it times out
      const auto waited = std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - begin);
      if (waited >= limit) return std::nullopt;
      std::this_thread::sleep_for(std::clamp(waited / 20, shortest_key_pause, longest_key_pause));
    }
    return store_.get_to_str(key);
  }
  void remove(const std::string& key) override {
    const auto guard = end_after(milliseconds{0});
    store_.deleteKey(key);
  }

 private:
  launcher::Deadline end_after(milliseconds limit) const {
    return launcher::Deadline(limit + beyond_c10d, [this] {
      std::cerr << "ddpprof-worker: rank 0's store stopped answering while the ranks' files were gathered; " << where_
                << std::endl;
      _exit(4);
    });
  }

  c10d::Store& store_;
  const std::string where_;
};

// If ddpprof's tracer is attached, makes it write all buffered events and close its shard. Other tools are not touched.
void finish_trace() {
  const char* library = std::getenv("NVTX_INJECTION64_PATH");
  void* tool = library == nullptr ? nullptr : dlopen(library, RTLD_NOW | RTLD_NOLOAD);
  if (tool == nullptr) return;
  if (auto* const finish = reinterpret_cast<void (*)()>(dlsym(tool, "ddpprof_tracer_finish"))) finish();
  dlclose(tool);
}

}  // namespace

void gather_files(const Context& context, const GatherPlace& place, const std::optional<launcher::Token>& token,
                  c10d::Store& store) {
  finish_trace();
  launcher::GatherJob job;
  job.folder = place.folder;
  job.overwrite = place.overwrite;
  job.rank = context.environment.rank;
  job.world_size = context.environment.world_size;
  job.run = context.run;
  job.token = token ? &*token : nullptr;
  job.patience = std::max(context.timeout(), least_patience);
  const std::string stay = "this rank's files are in " + place.folder.string() + ": copy them to rank 0's folder";
  StoreMailbox mailbox(store, stay);
  if (job.rank != 0) {
    std::string why;
    try {
      why = launcher::send_files(mailbox, job);
    } catch (const c10::DistError& error) {
      why = "rank 0's store is gone (" + first_line(error.what()) + ")";
    }
    if (!why.empty()) throw std::runtime_error("rank 0 did not take this rank's files: " + why + "; " + stay);
    return;
  }
  const launcher::Gathered gathered = launcher::fetch_files(mailbox, job);
  if (context.closing_line)
    std::cerr << "ddpprof-worker: the files of " << gathered.came << " of " << job.world_size - 1
              << " other ranks came (" << gathered.bytes << " bytes)"
              << (gathered.here > 0
                      ? "; those of " + std::to_string(gathered.here) + " were here already: the folder is shared"
                      : "")
              << std::endl;
  if (gathered.lost.empty()) return;
  std::string text = "files of " + std::to_string(gathered.lost.size()) + " of " + std::to_string(job.world_size) +
                     " ranks did not come, the others' are kept: ";
  for (const std::string& lost : gathered.lost) text += (&lost == &gathered.lost.front() ? "" : "; ") + lost;
  throw std::runtime_error(text +
                           ". Copy what is missing from its host (attempt folder and all) and give both folders "
                           "to ddpprof import, or import with --partial");
}

}  // namespace ddpprof::worker
