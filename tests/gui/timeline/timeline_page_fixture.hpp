// The page Timeline over a traced run, after it was read.
#pragma once

#include <gtest/gtest.h>

#include <QLineEdit>
#include <QSignalSpy>
#include <QTest>

#include "gui/pages/timeline/finder.hpp"
#include "gui/pages/timeline/timeline_page.hpp"
#include "tests/analysis/timeline/traced_run.hpp"

namespace ddpprof::gui {

using test::ms;
inline constexpr int patience_ms = 10'000;

class TimelinePageTest : public testing::Test {
 protected:
  void SetUp() override {
    page_.resize(1280, 800);
    selection_.set_measurement(test::traced_measurement);
    page_.show();
    page_.show_file(open_file(file_.path));
    ASSERT_TRUE(complete());
  }
  bool complete() {
    return QTest::qWaitFor([&] { return page_.source().timeline() && page_.source().timeline()->complete; },
                           patience_ms);
  }
  const timeline::Timeline& all() { return *page_.source().timeline(); }
  std::string focused() {
    const auto& focus = page_.view().focus();
    return focus ? all().names.text(all().rows[focus->row].name[focus->event]) : "";
  }
  void find(const QString& text) {
    QSignalSpy found(&page_.finder(), &Finder::found);
    page_.finder().box().setText(text);
    ASSERT_TRUE(QTest::qWaitFor([&] { return !found.isEmpty(); }, patience_ms));
  }

  test::TracedFile file_;
  Selection selection_;
  TimelinePage page_{selection_};
};

}  // namespace ddpprof::gui
