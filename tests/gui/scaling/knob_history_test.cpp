#include "gui/models/scaling/knob_history.hpp"

#include <gtest/gtest.h>

namespace ddpprof::gui::whatif {
namespace {

using std::chrono::milliseconds;

class KnobHistoryTest : public testing::Test {
 protected:
  void change(const Knobs& to, int at_ms) {
    history.record(now, to, KnobHistory::Time(milliseconds(at_ms)));
    now = to;
  }
  Knobs with_bandwidth(double factor) {
    Knobs knobs = now;
    knobs.bandwidth = factor;
    return knobs;
  }

  Knobs now;
  KnobHistory history;
};

TEST_F(KnobHistoryTest, GoesBackAndForward) {
  const Knobs first = now;
  change(with_bandwidth(2.0), 0);
  const Knobs second = now;
  Knobs other = now;
  other.overlap = false;
  change(other, 100);
  EXPECT_EQ(history.undo(now), second);
  EXPECT_EQ(history.undo(second), first);
  EXPECT_FALSE(history.undo(first));
  EXPECT_EQ(history.redo(first), second);
  EXPECT_EQ(history.redo(second), other);
  EXPECT_FALSE(history.redo(other));
}

TEST_F(KnobHistoryTest, ADraggedSliderIsOneChange) {
  const Knobs first = now;
  for (int i = 1; i <= 20; ++i) change(with_bandwidth(1.0 + 0.1 * i), i * 40);
  EXPECT_EQ(history.undo(now), first);
  EXPECT_FALSE(history.can_undo());
}

TEST_F(KnobHistoryTest, ALaterChangeOfTheSameKnobIsAnother) {
  change(with_bandwidth(2.0), 0);
  const Knobs second = now;
  change(with_bandwidth(4.0), 1500);
  EXPECT_EQ(history.undo(now), second);
}

TEST_F(KnobHistoryTest, AChangeAfterUndoForgetsTheRedoneStates) {
  change(with_bandwidth(2.0), 0);
  now = *history.undo(now);
  Knobs other = now;
  other.compute = 2.0;
  change(other, 50);
  EXPECT_FALSE(history.can_redo());
  EXPECT_EQ(history.undo(now)->compute, 1.0);
}

TEST_F(KnobHistoryTest, NoChangeIsNotAState) {
  change(now, 0);
  EXPECT_FALSE(history.can_undo());
}

}  // namespace
}  // namespace ddpprof::gui::whatif
