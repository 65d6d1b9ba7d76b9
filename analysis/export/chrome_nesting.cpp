#include "analysis/export/chrome_nesting.hpp"

namespace ddpprof::export_ {

Track NestedTracks::track_of(ChromeWriter& writer, std::int64_t start_ns, std::int64_t end_ns) {
  Lane* holding = nullptr;
  Lane* idle = nullptr;
  for (Lane& lane : lanes_) {
    while (!lane.open.empty() && lane.open.back().end_ns <= start_ns) lane.open.pop_back();
    if (lane.open.empty()) {
      if (!idle) idle = &lane;
    } else if (lane.open.back().end_ns >= end_ns &&
               (!holding || lane.open.back().start_ns >= holding->open.back().start_ns)) {
      holding = &lane;
    }
  }
  Lane* chosen = holding ? holding : idle;
  if (!chosen) {
    const Track further{lanes_.front().track.pid, (*crossing_)++};
    writer.track(further, name_ + ", crossing", facts_);
    chosen = &lanes_.emplace_back(Lane{further, {}});
  }
  chosen->open.push_back({start_ns, end_ns});
  return chosen->track;
}

}  // namespace ddpprof::export_
