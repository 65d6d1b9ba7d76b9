#include "gui/models/scaling/knob_history.hpp"

#include <utility>

namespace ddpprof::gui::whatif {
namespace {

constexpr std::size_t most_states = 200;
constexpr std::chrono::seconds one_movement(1);

// Returns the knob that differs; nothing if several do.
std::optional<KnobId> only_changed_knob(const Knobs& before, const Knobs& now) {
  std::optional<KnobId> found;
  for (int id = 0; id <= static_cast<int>(KnobId::servers); ++id) {
    if (!differs(now, before, static_cast<KnobId>(id))) continue;
    if (found) return std::nullopt;
    found = static_cast<KnobId>(id);
  }
  return found;
}

}  // namespace

void KnobHistory::clear() {
  earlier_.clear();
  later_.clear();
  last_knob_.reset();
}

void KnobHistory::record(const Knobs& before, const Knobs& now, Time at) {
  if (before == now) return;
  const std::optional<KnobId> knob = only_changed_knob(before, now);
  const bool continues = knob && knob == last_knob_ && at - last_at_ < one_movement && !earlier_.empty();
  last_knob_ = knob;
  last_at_ = at;
  later_.clear();
  if (continues) return;
  if (earlier_.size() >= most_states) earlier_.erase(earlier_.begin());
  earlier_.push_back(before);
}

std::optional<Knobs> KnobHistory::undo(const Knobs& now) {
  if (earlier_.empty()) return std::nullopt;
  last_knob_.reset();
  later_.push_back(now);
  const Knobs state = std::move(earlier_.back());
  earlier_.pop_back();
  return state;
}

std::optional<Knobs> KnobHistory::redo(const Knobs& now) {
  if (later_.empty()) return std::nullopt;
  last_knob_.reset();
  earlier_.push_back(now);
  const Knobs state = std::move(later_.back());
  later_.pop_back();
  return state;
}

}  // namespace ddpprof::gui::whatif
