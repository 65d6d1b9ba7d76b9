// The scaling page with a file, as a user sees it.
#pragma once

#include <gtest/gtest.h>

#include <QAbstractButton>
#include <QButtonGroup>
#include <QTest>
#include <cmath>
#include <memory>

#include "gui/models/selection.hpp"
#include "gui/pages/scaling/scaling_page.hpp"
#include "gui/pages/scaling/scaling_plot.hpp"
#include "tests/gui/scaling/files.hpp"

namespace ddpprof::gui::whatif {

inline constexpr int patience_ms = 60'000;

class ScalingPageTest : public testing::Test {
 protected:
  void open(const std::shared_ptr<const OpenedFile>& opened) {
    page.resize(1280, 740);
    page.show();
    page.show_file(opened);
    ASSERT_TRUE(settles());
  }

  bool settles() {
    return QTest::qWaitFor([&] { return !page.model().busy() && page.model().snapshot().complete; }, patience_ms);
  }

  // The value drawn at an N, where the line is solid.
  static double drawn(BandedLine& line, std::int64_t n) {
    const auto data = line.line()->data();
    const auto found = data->findBegin(static_cast<double>(n), false);
    return found != data->constEnd() && found->key == static_cast<double>(n) ? found->value : std::nan("");
  }

  QAbstractButton* view_button(ScalingPlot::View view) {
    return page.findChild<QButtonGroup*>()->button(static_cast<int>(view));
  }

  Selection selection;
  ScalingPage page{selection};
};

}  // namespace ddpprof::gui::whatif
