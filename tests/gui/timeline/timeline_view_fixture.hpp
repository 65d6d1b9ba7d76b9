// A timeline view over a traced run, used as a user does: wheel, drags, and keyboard focus.
#pragma once

#include <gtest/gtest.h>

#include <QApplication>
#include <QScrollBar>
#include <QSignalSpy>
#include <QTest>
#include <QWheelEvent>

#include "analysis/timeline/load.hpp"
#include "gui/timeline/timeline_view.hpp"
#include "tests/analysis/timeline/traced_run.hpp"

namespace ddpprof::gui {

using test::ms;

class TimelineViewTest : public testing::Test {
 protected:
  void SetUp() override {
    all_ = timeline::load(file_.path, test::traced_measurement);
    view_.resize(1000, 600);
    view_.show();
    view_.set_timeline(all_);
    ASSERT_TRUE(QTest::qWaitForWindowExposed(&view_));
  }
  void wheel(const QPoint& at, int notches, Qt::KeyboardModifiers modifiers = Qt::NoModifier) {
    QWheelEvent event(at, view_.viewport()->mapToGlobal(at), {}, QPoint(0, 120 * notches), Qt::NoButton, modifiers,
                      Qt::NoScrollPhase, false);
    QApplication::sendEvent(view_.viewport(), &event);
  }
  QPoint in_area(double x, int y = 100) const { return view_.area_origin() + QPoint(static_cast<int>(x), y); }
  void drag(const QPoint& from, const QPoint& to, Qt::KeyboardModifiers modifiers = Qt::NoModifier) {
    QTest::mousePress(view_.viewport(), Qt::LeftButton, modifiers, from);
    for (int i = 1; i <= 4; ++i) {
      const QPoint at = from + (to - from) * i / 4;
      QMouseEvent move(QEvent::MouseMove, at, view_.viewport()->mapToGlobal(at), Qt::NoButton, Qt::LeftButton,
                       modifiers);
      QApplication::sendEvent(view_.viewport(), &move);
    }
    QTest::mouseRelease(view_.viewport(), Qt::LeftButton, modifiers, to);
  }
  std::string focused() const {
    return view_.focus() ? all_->names.text(all_->rows[view_.focus()->row].name[view_.focus()->event]) : "";
  }
  std::uint32_t row_of(std::uint32_t rank, timeline::TrackKind kind) const {
    for (const timeline::Track& track : all_->tracks)
      if (track.rank == rank && track.kind == kind) return track.first_row;
    ADD_FAILURE() << "no such track";
    return 0;
  }

  test::TracedFile file_;
  std::shared_ptr<const timeline::Timeline> all_;
  TimelineView view_;
};

}  // namespace ddpprof::gui
