// The engine's state of tasks and lanes while it runs, and its planned events. Internal to the engine.
#pragma once

#include <cstdint>

#include "simulator/engine/graph.hpp"

namespace ddpprof::engine {

inline constexpr double not_started = -1.0;

enum class What : std::uint8_t { fixed_done, link_turn };

// Events at the same time are ordered by kind and number, so that results do not depend on how a heap breaks ties.
struct Event {
  double time_s;
  std::int32_t number;  // task or link
  std::uint32_t version;
  What what;
  bool operator>(const Event& other) const {
    if (time_s != other.time_s) return time_s > other.time_s;
    if (what != other.what) return what > other.what;
    return number > other.number;
  }
};

struct LaneState {
  std::uint32_t next = 0;  // place in the lane's list whose turn comes next
  std::int32_t free = 1;
  std::int32_t running = 0;
  bool held = false;    // by a task whose turn has come but that has not started
  Task current = none;  // of a lane that is slowed
};

// The rest of a slowed task's fixed part.
struct Slowed {
  double left_s = 0.0;
  double seen_s = 0.0;
  double rate = 1.0;
  std::uint32_t version = 0;
};

struct Pending {
  std::uint32_t waits = 0;  // predecessors that have not ended
  std::uint32_t turns = 0;  // lanes on which its turn has not come
};

}  // namespace ddpprof::engine
