// Search on the page Timeline: goes from hit to hit; each one is in view and readable.
#include "tests/gui/timeline/timeline_page_fixture.hpp"

namespace ddpprof::gui {
namespace {

TEST_F(TimelinePageTest, SearchStepsThroughItsHitsAndWrapsAround) {
  find("outer");
  EXPECT_EQ(page_.finder().state(), "3 hits");
  QTest::keyClick(&page_.finder().box(), Qt::Key_Return);
  EXPECT_EQ(focused(), "Outer");
  EXPECT_EQ(page_.finder().state(), "1 of 3");
  page_.activateWindow();
  page_.view().setFocus();
  ASSERT_TRUE(QTest::qWaitForWindowActive(&page_, patience_ms));
  QTest::keyClick(&page_.view(), Qt::Key_N);
  EXPECT_EQ(page_.finder().state(), "2 of 3");
  EXPECT_EQ(focused(), "Outer never ended");
  QTest::keyClick(&page_.view(), Qt::Key_N, Qt::ShiftModifier);
  EXPECT_EQ(page_.finder().state(), "1 of 3");
  page_.finder().next();
  page_.finder().next();
  EXPECT_EQ(page_.finder().state(), "3 of 3");
  page_.finder().next();
  EXPECT_EQ(page_.finder().state(), "1 of 3");
  page_.finder().previous();
  EXPECT_EQ(page_.finder().state(), "3 of 3");
  page_.view().set_focus(std::nullopt);
  EXPECT_EQ(page_.finder().state(), "3 hits");
  // "1 alone" is one hit.
  for (const std::size_t count : {std::size_t{1}, std::size_t{11}, std::size_t{21}}) {
    page_.view().set_hits({}, std::vector<timeline::EventRef>(count, timeline::EventRef{0, 3}));
    page_.view().set_focus(timeline::EventRef{0, 0});
    EXPECT_EQ(page_.finder().state(), count == 1 ? "1 hit" : QString("%1 hits").arg(count));
    page_.view().set_focus(std::nullopt);
  }
  find("no such name");
  EXPECT_EQ(page_.finder().state(), "no hit");
  find("");
  EXPECT_EQ(page_.finder().state(), "");
}

TEST_F(TimelinePageTest, AHitIsZoomedUntilItCanBeRead) {
  find("outer");  // of 1 us, of 10 ns, and one that never ended, in a run of half a second
  TimelineView& view = page_.view();
  const auto wide = [&] { return view.rect_of(*view.focus()).width(); };
  page_.finder().next();
  EXPECT_GE(wide(), readable_px);
  EXPECT_FALSE(view.accessibleDescription().contains("folded")) << view.accessibleDescription().toStdString();
  const Axis there = view.axis();
  page_.finder().previous();
  EXPECT_FALSE(view.rect_of(*view.focus()).isEmpty()) << "the last, far away";
  page_.finder().next();
  EXPECT_GE(wide(), readable_px) << "the first again";
  view.show_all();
  EXPECT_LE(wide(), 2);
  find("never ended");
  page_.finder().next();
  find("outer");
  page_.finder().previous();
  EXPECT_GE(wide(), readable_px) << "backwards as well";
  EXPECT_EQ(view.axis().ns_per_px, there.ns_per_px);
}

TEST_F(TimelinePageTest, F3AndEnterGoToTheNextHitWithShiftToThePrevious) {
  find("outer");
  page_.activateWindow();
  ASSERT_TRUE(QTest::qWaitForWindowActive(&page_, patience_ms));
  QLineEdit& box = page_.finder().box();
  struct Case {
    int key;
    Qt::KeyboardModifiers modifiers;
    const char* state;
  };
  for (const Case& c :
       {Case{Qt::Key_F3, Qt::NoModifier, "1 of 3"}, Case{Qt::Key_F3, Qt::NoModifier, "2 of 3"},
        Case{Qt::Key_F3, Qt::ShiftModifier, "1 of 3"}, Case{Qt::Key_Return, Qt::NoModifier, "2 of 3"},
        Case{Qt::Key_Return, Qt::ShiftModifier, "1 of 3"}, Case{Qt::Key_Enter, Qt::ShiftModifier, "3 of 3"}}) {
    box.setFocus();
    QTest::keyClick(&box, static_cast<Qt::Key>(c.key), c.modifiers);
    EXPECT_EQ(page_.finder().state(), c.state) << c.key;
  }
}

TEST_F(TimelinePageTest, EnterBeforeTheAnswerGoesToTheFirstHitOnceItIsFound) {
  page_.finder().box().setText("never ended");
  QTest::keyClick(&page_.finder().box(), Qt::Key_Return);
  ASSERT_TRUE(QTest::qWaitFor([&] { return page_.view().focus().has_value(); }, patience_ms));
  EXPECT_EQ(focused(), "Outer never ended");
}

}  // namespace
}  // namespace ddpprof::gui
