// Makes the batches that the training thread asks for: in it, or ahead of it on threads of its own.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "runner/worker/data/dataset.hpp"

namespace ddpprof::worker {

struct LoaderOptions {
  std::int64_t threads = 0;   // 0: next() loads
  std::int64_t prefetch = 2;  // batches begun and not yet handed out, for each thread
  std::chrono::milliseconds timeout{120'000};
};

// As Python's DataLoader with num_workers and prefetch_factor: batches come in the sampler's order whatever the number
// of threads, and that many are ready ahead across epochs. Ours: threads where Python forks processes, so nothing is
// pickled or copied; a free thread takes the next batch, where DataLoader deals them out in turn, so a slow batch
// holds up no other; the threads live on over the end of an epoch. Each computes with one intra-op thread.
class Loader {
 public:
  using Load = std::function<Dataset::Batch(const Picks&)>;  // called from several threads at once
  struct Item {
    Picks picks;
    Dataset::Batch batch;
  };

  Loader(Load load, BatchSampler sampler, LoaderOptions options);
  ~Loader();  // waits for the batches in the making, at most `timeout`, and not after next() has waited that long
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  // The next batch. An error of the thread that made it is thrown here, as it was there, and by every later call.
  // Throws std::runtime_error when the batch is not ready within the timeout.
  Item next();

 private:
  struct Shared;  // outlives a thread that hangs
  static void work(const std::shared_ptr<Shared>& shared, std::int32_t loader);

  std::shared_ptr<Shared> shared_;
  LoaderOptions options_;
  std::vector<std::thread> threads_;
};

}  // namespace ddpprof::worker
