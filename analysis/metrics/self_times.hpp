// Self times: durations of nested ranges of one thread without the ranges inside them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace ddpprof::metrics {

// Ranges are given in order of start, the longer first. `take` receives each range after its end; its self time is
// end_ns - start_ns - inner_ns.
class SelfTimes {
 public:
  struct Open {
    std::int64_t start_ns, end_ns, inner_ns, name_id;
  };
  template <class Take>
  void begin(std::int64_t start_ns, std::int64_t end_ns, std::int64_t name_id, Take&& take) {
    close(start_ns, take);
    // In damaged files a range may end after the range around it: only the part inside counts.
    if (!open_.empty()) {
      end_ns = std::min(end_ns, open_.back().end_ns);
      open_.back().inner_ns += end_ns - start_ns;
    }
    open_.push_back({start_ns, end_ns, 0, name_id});
  }
  template <class Take>
  void close(std::int64_t until_ns, Take&& take) {
    for (; !open_.empty() && open_.back().end_ns <= until_ns; open_.pop_back()) take(open_.back());
  }

 private:
  std::vector<Open> open_;
};

}  // namespace ddpprof::metrics
