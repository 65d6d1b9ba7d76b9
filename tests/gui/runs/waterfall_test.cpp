// The waterfall of a comparison has the numbers of the table compare_waterfall.
#include <gtest/gtest.h>

#include <QComboBox>
#include <QHeaderView>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>
#include <algorithm>

#include "gui/models/runs/compare_files.hpp"
#include "gui/pages/runs/compare_panel.hpp"
#include "gui/pages/runs/compared_steps_view.hpp"
#include "gui/pages/runs/waterfall_view.hpp"
#include "gui/widgets/lane_view.hpp"
#include "gui/widgets/table_view.hpp"
#include "tests/analysis/report/synthetic_run.hpp"

namespace ddpprof::gui {
namespace {

class WaterfallTest : public testing::Test {
 protected:
  // A step with its compute, communication, hidden communication and waiting in ms, for each N.
  void write(const char* name, std::int64_t step, std::int64_t compute, std::int64_t communication,
             std::int64_t overlapped, std::int64_t skew) {
    test::SyntheticRun run(path(name));
    for (const std::int64_t workers : {2, 4}) {
      const std::int64_t measurement = run.measurement(test::train("ddp", workers));
      for (std::int64_t rank = 0; rank < workers; ++rank) {
        const std::int64_t shard = run.shard(measurement, rank);
        for (int i = 0; i < 8; ++i)
          run.step(shard, i, i * 1000 * test::ms, (step + i % 3) * test::ms, compute * test::ms,
                   communication * test::ms, overlapped * test::ms, skew * test::ms);
      }
    }
  }
  // Waits until the panel has compared the two files.
  void compare(ComparePanel& panel, const char* a, const char* b) {
    panel.set_a(QString::fromStdString(path(a)));
    panel.set_b(QString::fromStdString(path(b)));
    QSignalSpy done(&panel, &ComparePanel::compared);
    panel.compare();
    ASSERT_TRUE(done.wait(30'000));
  }
  std::string path(const char* name) const { return folder_.filePath(name).toStdString(); }
  void SetUp() override {
    write("a.db", 100, 80, 30, 20, 1);
    write("b.db", 130, 60, 70, 10, 5);
  }

  QTemporaryDir folder_;
};

TEST_F(WaterfallTest, TheBarsLeadFromAToB) {
  const report::Report report = compare_files(path("a.db"), path("b.db"));
  const auto table = std::ranges::find(report.tables, std::string("compare_waterfall"), &report::Table::name);
  ASSERT_NE(table, report.tables.end());
  const std::vector<Waterfall> all = waterfalls_of(*table);
  ASSERT_EQ(all.size(), 2U) << "one for each N";
  EXPECT_EQ(all[1].title.section(", global batch", 0, 0), "ddp, N = 4");
  std::size_t at = 0;  // row of the table
  for (const Waterfall& one : all) {
    const std::vector<WaterfallBar>& bars = one.bars;
    ASSERT_GE(bars.size(), 5U);
    const auto number = [&](std::size_t row, const char* column) {
      return *report::value_of<double>(*table, table->rows.at(row), column);
    };
    EXPECT_DOUBLE_EQ(bars.front().to_s, number(at, "a_s"));
    EXPECT_DOUBLE_EQ(bars.back().to_s, number(at, "b_s"));
    for (std::size_t i = 1; i + 1 < bars.size(); ++i) {
      EXPECT_EQ(bars[i].what, *report::value_of<std::string>(*table, table->rows.at(at + i), "what"));
      EXPECT_DOUBLE_EQ(bars[i].from_s, bars[i - 1].to_s) << bars[i].what;
      EXPECT_NEAR(bars[i].to_s - bars[i].from_s, number(at + i, "difference_s"), 1e-12) << bars[i].what;
      ASSERT_TRUE(bars[i].ends) << bars[i].what;
      EXPECT_LE(bars[i].ends->first, bars[i].to_s + 1e-12);
      EXPECT_GE(bars[i].ends->second, bars[i].to_s - 1e-12);
    }
    EXPECT_NEAR(bars[bars.size() - 2].to_s, bars.back().to_s, 1e-12) << "the changes lead from A to B";
    at += bars.size() - 1;
  }
  EXPECT_EQ(at, table->rows.size());
}

TEST_F(WaterfallTest, ThePanelDrawsItAndChoosesTheConfiguration) {
  ComparePanel panel;
  panel.resize(900, 600);
  panel.show();
  compare(panel, "a.db", "b.db");
  auto* view = panel.findChild<WaterfallView*>();
  ASSERT_NE(view, nullptr);
  EXPECT_TRUE(view->isVisible()) << "shown first";
  EXPECT_TRUE(view->shown().title.startsWith("ddp, N = 2"));
  ASSERT_TRUE(QTest::qWaitFor([&] { return view->width() > 500; }, 5000)) << "laid out";
  QComboBox* choice = nullptr;
  for (auto* box : panel.findChildren<QComboBox*>())
    if (box->accessibleName() == "Configuration of the waterfall") choice = box;
  ASSERT_NE(choice, nullptr);
  choice->setCurrentIndex(1);
  EXPECT_TRUE(view->shown().title.startsWith("ddp, N = 4"));
}

// Beside the rail and the recent files, in windows of 1280 × 720 and 900 × 600.
TEST_F(WaterfallTest, EveryRowIsDrawnInSmallWindows) {
  ComparePanel panel;
  panel.show();
  compare(panel, "a.db", "b.db");
  auto* view = panel.findChild<WaterfallView*>();
  ASSERT_NE(view, nullptr);
  for (const QSize size : {QSize(880, 610), QSize(560, 490)}) {
    panel.resize(size);
    ASSERT_TRUE(QTest::qWaitFor([&] { return view->visibleRegion().boundingRect().width() > 300; }, 5000));
    const std::string where = std::to_string(size.width()) + " wide";
    const QFontMetrics metrics = view->fontMetrics();
    EXPECT_GE(view->height(), static_cast<int>(view->shown().bars.size()) * metrics.height()) << where;
    EXPECT_GE(view->height(), view->minimumSizeHint().height()) << where;
    for (const WaterfallBar& bar : view->shown().bars)
      EXPECT_LT(metrics.horizontalAdvance(QString::fromStdString(bar.what)) + metrics.horizontalAdvance(bar.text),
                view->width())
          << where;
    EXPECT_EQ(view->visibleRegion().boundingRect().height(), view->height()) << where << ": the last row is cut off";
  }
}

TEST_F(WaterfallTest, ATypicalStepOfEachFileIsOnOneTimeAxis) {
  ComparePanel panel;
  panel.resize(900, 600);
  panel.show();
  compare(panel, "a.db", "b.db");
  auto* steps = panel.findChild<ComparedStepsView*>();
  ASSERT_NE(steps, nullptr);
  const auto wait = [&] {
    return QTest::qWaitFor([&] { return steps->a().lanes() && steps->a().lanes()->workers == 4; }, 10'000);
  };
  auto* choice = panel.findChild<QComboBox*>();
  ASSERT_NE(choice, nullptr);
  choice->setCurrentIndex(1);
  ASSERT_TRUE(wait());
  ASSERT_TRUE(steps->b().lanes());
  EXPECT_DOUBLE_EQ(steps->a().lanes()->step_s, 0.101) << "the median of 100, 101 and 102 ms";
  EXPECT_DOUBLE_EQ(steps->b().lanes()->step_s, 0.131);
  const TimeWindow both{0.0, steps->b().lanes()->step_s};
  EXPECT_TRUE(steps->a().window() == both) << "one axis, from the beginning of both steps";
  EXPECT_TRUE(steps->b().window() == both);
  EXPECT_EQ(steps->a().current_layout().plot.left(), steps->b().current_layout().plot.left());
  EXPECT_TRUE(steps->b().title().startsWith("Typical step of B: rank 0")) << steps->b().title().toStdString();
  // The page scrolls: no lane is squeezed, and the table below has all its rows.
  for (const LaneView* view : {&steps->a(), &steps->b()})
    EXPECT_GE(view->height(), view->heightForWidth(view->width()));
  const auto* table = panel.view("compare_waterfall");
  EXPECT_GE(table->viewport()->height(), table->verticalHeader()->length());
}

TEST_F(WaterfallTest, AFileWithoutEventsSaysSo) {
  store::Database::open_write(path("b.db")).sql().exec("DELETE FROM phase");
  ComparePanel panel;
  panel.show();
  compare(panel, "a.db", "b.db");
  auto* steps = panel.findChild<ComparedStepsView*>();
  ASSERT_NE(steps, nullptr);
  ASSERT_TRUE(QTest::qWaitFor([&] { return steps->a().lanes().has_value(); }, 10'000));
  EXPECT_FALSE(steps->b().lanes());
  EXPECT_TRUE(steps->b().message().contains("no records inside it")) << steps->b().message().toStdString();
}

TEST_F(WaterfallTest, AReplacedFileIsNotMixedWithTheComparison) {
  EXPECT_THROW(read_compared_steps(path("a.db"), path("b.db"), 2), std::runtime_error);
}

}  // namespace
}  // namespace ddpprof::gui
