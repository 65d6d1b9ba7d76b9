// Earlier and later states of the knobs, for undo and redo.
#pragma once

#include <chrono>
#include <optional>
#include <vector>

#include "gui/models/scaling/knobs.hpp"

namespace ddpprof::gui::whatif {

class KnobHistory {
 public:
  using Time = std::chrono::steady_clock::time_point;

  void clear();
  // Stores the state before a change, and forgets all redone states. Changes of one and the same knob that follow each
  // other within a second, as when a slider is dragged, are one state.
  void record(const Knobs& before, const Knobs& now, Time at);
  // Return the state to show instead of `now`, or nullopt if the history has no further state.
  std::optional<Knobs> undo(const Knobs& now);
  std::optional<Knobs> redo(const Knobs& now);
  bool can_undo() const { return !earlier_.empty(); }
  bool can_redo() const { return !later_.empty(); }

 private:
  std::vector<Knobs> earlier_, later_;
  std::optional<KnobId> last_knob_;
  Time last_at_;
};

}  // namespace ddpprof::gui::whatif
