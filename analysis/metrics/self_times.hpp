// What nested ranges of one thread take by themselves, without the ones inside of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace ddpprof::metrics {

// Given by start, the longer first. `take` gets each range once its end has come, its time less that inside of it
// being end_ns - start_ns - inner_ns.
class SelfTimes {
 public:
  struct Open {
    std::int64_t start_ns, end_ns, inner_ns, name_id;
  };
  template <class Take>
  void begin(std::int64_t start_ns, std::int64_t end_ns, std::int64_t name_id, Take&& take) {
    close(start_ns, take);
    // What outlasts the one around it, as damaged files have it, counts within it alone.
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
