#include "analysis/import/load/reading/lanes.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

namespace ddpprof::import {

Lanes::Lanes(std::size_t wanted, Job job, const Start& start) : job_(std::move(job)) {
  const std::shared_future<std::size_t> lanes = go_.get_future().share();
  threads_.reserve(wanted);
  try {
    for (std::size_t lane = 0; lane < wanted; ++lane) {
      const auto run = [this, lane, lanes] {
        if (const std::size_t count = lanes.get(); count > 0) job_(lane, count);
      };
      threads_.push_back(start ? start(run) : std::thread(run));
    }
  } catch (const std::system_error&) {
    // The threads that started do the work of the others, too.
  }
}

Lanes::~Lanes() { release(0); }

std::size_t Lanes::count() const { return std::max<std::size_t>(1, threads_.size()); }

void Lanes::run() {
  if (threads_.empty() && !released_) job_(0, 1);
  release(count());
}

void Lanes::release(std::size_t lanes) {
  if (!std::exchange(released_, true)) go_.set_value(lanes);
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

}  // namespace ddpprof::import
