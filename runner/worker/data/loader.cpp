#include "runner/worker/data/loader.hpp"

#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>

#include "runner/worker/annotate.hpp"
#include "runner/worker/memory/counting_allocator.hpp"

namespace ddpprof::worker {

struct Loader::Shared {
  Shared(Load load_batch, BatchSampler order, std::int64_t most)
      : load(std::move(load_batch)), sampler(std::move(order)), capacity(most) {}

  const Load load;

  std::mutex sampling;  // taken before `mutex`: batches are numbered in the order in which they are drawn
  BatchSampler sampler;

  std::mutex mutex;
  std::condition_variable room, ready;
  const std::int64_t capacity;
  std::int64_t begun = 0, handed_out = 0;  // batches
  std::map<std::int64_t, Item> done;
  std::exception_ptr error;
  std::int64_t error_batch = 0;
  std::size_t running = 0;  // threads
  bool stop = false;

  // Draws the next batch when there is room for it. Returns false if the loader ends.
  bool begin(std::int64_t& number, Picks& picks) {
    const std::lock_guard order(sampling);
    {
      std::unique_lock lock(mutex);
      // No timeout: this wait lasts as long as the training thread computes, and the destructor ends it.
      room.wait(lock, [&] { return stop || error || begun - handed_out < capacity; });
      if (stop || error) return false;
      number = begun++;
    }
    picks = sampler.next();
    return true;
  }

  void fail(std::int64_t number) {
    const std::lock_guard lock(mutex);
    if (!error || number < error_batch) {
      error = std::current_exception();
      error_batch = number;
    }
    ready.notify_all();
    room.notify_all();
  }
};

Loader::Loader(Load load, BatchSampler sampler, LoaderOptions options)
    : shared_(std::make_shared<Shared>(std::move(load), std::move(sampler), options.threads * options.prefetch)),
      options_(options) {
  if (options.threads == 0) return;
  at::get_num_threads();  // sets this thread's number from the process's default before the loader threads lower it to
                          // 1
  shared_->running = static_cast<std::size_t>(options.threads);
  for (std::int64_t i = 0; i < options.threads; ++i) threads_.emplace_back(work, shared_, static_cast<std::int32_t>(i));
}

Loader::~Loader() {
  if (threads_.empty()) return;
  bool ended = false;
  {
    std::unique_lock lock(shared_->mutex);
    shared_->stop = true;
    shared_->room.notify_all();
    ended = shared_->ready.wait_for(lock, options_.timeout, [&] { return shared_->running == 0; });
  }
  for (auto& thread : threads_) ended ? thread.join() : thread.detach();
}

Loader::Item Loader::next() {
  Shared& shared = *shared_;
  if (threads_.empty()) {
    Item item{shared.sampler.next(), {}};
    item.batch = shared.load(item.picks);
    return item;
  }
  std::unique_lock lock(shared.mutex);
  const std::int64_t number = shared.handed_out;
  const auto failed = [&] { return shared.error && shared.error_batch <= number; };
  if (!shared.ready.wait_for(lock, options_.timeout, [&] { return shared.done.contains(number) || failed(); })) {
    const auto waited_ms = std::exchange(options_.timeout, {}).count();  // the destructor must not wait again
    throw std::runtime_error("data loader: batch " + std::to_string(number) + " not ready within " +
                             std::to_string(waited_ms) +
                             " ms (measure.timeout_s); raise workload.data.loader_threads or use a cheaper transform");
  }
  if (const auto found = shared.done.find(number); found != shared.done.end()) {
    Item item = std::move(found->second);
    shared.done.erase(found);
    ++shared.handed_out;
    shared.room.notify_one();
    lock.unlock();
    for (const auto& input : item.batch.inputs) memory::hand_over(input, 0);
    memory::hand_over(item.batch.targets, 0);
    return item;
  }
  std::rethrow_exception(shared.error);
}

void Loader::work(const std::shared_ptr<Shared>& shared, std::int32_t loader) {
  annotate::name_thread(("loader " + std::to_string(loader)).c_str());
  at::set_num_threads(1);
  const memory::For host(memory::host);  // until next() returns it
  std::int64_t number = 0;
  Picks picks;
  try {
    while (shared->begin(number, picks)) {
      Dataset::Batch batch;
      {
        const annotate::Range range(
            annotate::Name::load_batch,
            vocabulary::LoadInfo{number, loader, static_cast<std::int32_t>(picks.indices.size())});
        batch = shared->load(picks);
      }
      const std::lock_guard lock(shared->mutex);
      shared->done.emplace(number, Item{std::move(picks), std::move(batch)});
      shared->ready.notify_all();
    }
  } catch (...) {
    shared->fail(number);
  }
  const std::lock_guard lock(shared->mutex);
  --shared->running;
  shared->ready.notify_all();
}

}  // namespace ddpprof::worker
