// A link while the engine runs: transfers that share it evenly, and when the next of them ends. Internal to the engine.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "simulator/engine/graph.hpp"

namespace ddpprof::engine {

// Each transfer has progressed by as much as the link's own clock has advanced since it joined. This clock runs at
// 1/(number of transfers) of the wall clock.
class SharedLink {
 public:
  std::uint32_t version = 0;  // of the event that is planned for it

  bool idle() const { return transfers_.empty(); }

  void join(double now_s, double alone_s, Task task) {
    advance(now_s);
    transfers_.push_back({clock_ + alone_s, task});
    std::push_heap(transfers_.begin(), transfers_.end(), std::greater<>());
  }

  // Returns the time until the next transfer ends.
  double left_s() const {
    return std::max(0.0, transfers_.front().end - clock_) * static_cast<double>(transfers_.size());
  }

  // Advances exactly to the end of the next transfer, without rounding errors. Calls `ended` with each task that ends
  // there.
  template <class Ended>
  void finish(double now_s, Ended ended) {
    clock_ = transfers_.front().end;
    seen_s_ = now_s;
    while (!transfers_.empty() && transfers_.front().end <= clock_) {
      ended(transfers_.front().task);
      std::pop_heap(transfers_.begin(), transfers_.end(), std::greater<>());
      transfers_.pop_back();
    }
  }

 private:
  struct Transfer {
    double end;  // on the link's clock
    Task task;
    bool operator>(const Transfer& other) const { return end != other.end ? end > other.end : task > other.task; }
  };

  void advance(double now_s) {
    if (!transfers_.empty()) clock_ += (now_s - seen_s_) / static_cast<double>(transfers_.size());
    seen_s_ = now_s;
  }

  double clock_ = 0.0;
  double seen_s_ = 0.0;              // wall time of `clock_`
  std::vector<Transfer> transfers_;  // a heap, the next to end in front
};

}  // namespace ddpprof::engine
