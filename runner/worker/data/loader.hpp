// Loads batches for the training thread: in that thread, or ahead of time in loader threads.
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
  std::int64_t threads = 0;   // 0: next() loads the batch itself
  std::int64_t prefetch = 2;  // batches in preparation or ready, per thread
  std::chrono::milliseconds timeout{120'000};
};

// Like Python's DataLoader with num_workers and prefetch_factor: batches come in the sampler's order for any number of
// threads, and batches are prepared ahead across epochs. Differences from DataLoader: threads instead of processes, so
// nothing is pickled or copied; a free thread takes the next batch, so a slow batch does not delay the others
// (DataLoader assigns batches to workers in a fixed order); the threads continue after the end of an epoch. Each thread
// computes with one intra-op thread.
class Loader {
 public:
  using Load = std::function<Dataset::Batch(const Picks&)>;  // called from several threads at once
  struct Item {
    Picks picks;
    Dataset::Batch batch;
  };

  Loader(Load load, BatchSampler sampler, LoaderOptions options);
  ~Loader();  // waits at most `timeout` for batches in preparation; does not wait if next() timed out
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  // Returns the next batch. An error of a loader thread is rethrown here, and by every later call. Throws
  // std::runtime_error if the batch is not ready within the timeout.
  Item next();

 private:
  struct Shared;  // outlives a thread that hangs
  static void work(const std::shared_ptr<Shared>& shared, std::int32_t loader);

  std::shared_ptr<Shared> shared_;
  LoaderOptions options_;
  std::vector<std::thread> threads_;
};

}  // namespace ddpprof::worker
