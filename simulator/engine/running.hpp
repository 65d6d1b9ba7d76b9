// The engine's state of tasks and lanes while it runs, and its planned events. Internal to the engine.
#pragma once

#include <cstdint>

#include "simulator/engine/graph.hpp"

namespace ddpprof::engine {

enum class What : std::uint8_t { fixed_done, link_turn };

// Events at the same time are ordered by kind and number, so that results do not depend on how a heap breaks ties.
struct Event {
  double time_s;
  std::int32_t number;    // task or link
  std::uint32_t version;  // of a link's event
  What what;
  bool operator>(const Event& other) const {
    if (time_s != other.time_s) return time_s > other.time_s;
    if (what != other.what) return what > other.what;
    return number > other.number;
  }
};

struct LaneState {
  std::uint32_t next = 0;  // place in the lane's list whose turn comes next
  bool free = true;        // no task has its turn
};

struct Pending {
  std::uint32_t waits = 0;  // predecessors that have not ended
  bool has_turn = false;    // on its lane
};

}  // namespace ddpprof::engine
