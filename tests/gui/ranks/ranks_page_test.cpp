#include "gui/pages/ranks/ranks_page.hpp"

#include <gtest/gtest.h>

#include <QCheckBox>
#include <QComboBox>
#include <QLabel>
#include <QPushButton>
#include <QSignalSpy>
#include <QTabWidget>
#include <QTest>

#include "gui/pages/ranks/bars_plot.hpp"
#include "gui/pages/ranks/histogram_plot.hpp"
#include "gui/pages/ranks/strip_plot.hpp"
#include "gui/plots/colours.hpp"
#include "gui/plots/legend.hpp"
#include "gui/widgets/message_stack.hpp"
#include "tests/gui/accelerators.hpp"
#include "tests/gui/ranks/ranks_fixture.hpp"

namespace ddpprof::gui {
namespace {

class RanksPageTest : public testing::Test {
 protected:
  void open() {
    page_.resize(1200, 800);
    page_.show();
    page_.show_file(open_file(file_.path));
    wait();
  }
  void wait() {
    ASSERT_TRUE(QTest::qWaitFor([&] { return !page_.reading(); }, 20000));
  }
  QString summary() { return page_.findChild<QLabel*>("summary")->text(); }
  QString message() { return page_.findChild<QLabel*>("message")->text(); }
  StripPlot& strip() { return *page_.findChild<StripPlot*>(); }
  QPushButton& whole() { return *page_.findChild<QPushButton*>(); }
  QString range_text() {
    for (const QLabel* label : page_.findChildren<QLabel*>())
      if (label->text().contains("measured step")) return label->text();
    return {};
  }

  test::StragglerFile file_;
  Selection selection_;
  RanksPage page_{selection_};
};

TEST_F(RanksPageTest, ShowsWhatToDoWithoutAFile) {
  page_.show();
  EXPECT_TRUE(message().contains("Ctrl+O")) << message().toStdString();
}

TEST_F(RanksPageTest, NamesTheStragglerOfTheMeasurementWithMostRanks) {
  open();
  EXPECT_TRUE(summary().startsWith("Rank 3 (node) makes the other ranks wait")) << summary().toStdString();
  EXPECT_EQ(page_.findChild<QComboBox*>()->currentText(), "ddp N=4");
  EXPECT_EQ(strip().strip().steps.size(), 12U);
  EXPECT_FALSE(selection_.measurement()) << "showing the page selects no measurement";
  const auto* tables = page_.findChild<QTabWidget*>();
  EXPECT_EQ(tables->tabText(0), "By rank");
  EXPECT_EQ(tables->tabText(1), "Stragglers (1)");
  EXPECT_EQ(tables->tabText(2), "Slow steps (0)");
}

// The ground is the colour of steps that were not recorded.
TEST_F(RanksPageTest, TheLowestValueHasATintInBothAppearances) {
  open();
  for (const QPalette& palette : {light_palette(), dark_palette()}) {
    page_.setPalette(palette);
    QCoreApplication::processEvents();
    const auto* map = qobject_cast<QCPColorMap*>(strip().plottable(0));
    ASSERT_NE(map, nullptr);
    EXPECT_GE(contrast_ratio(map->gradient().colorStops().first(), strip().palette().color(QPalette::Base)), 1.1);
  }
}

TEST_F(RanksPageTest, ShowsTheDistributionOfStepTimes) {
  open();
  auto* tables = page_.findChild<QTabWidget*>();
  tables->setCurrentIndex(tables->count() - 1);
  EXPECT_EQ(tables->tabText(tables->currentIndex()), "Distribution");
  const auto* plot = page_.findChild<HistogramPlot*>();
  ASSERT_TRUE(plot->isVisible());
  double steps = 0.0;
  for (const QCPBarsData& bar : *plot->bars().data()) steps += bar.value;
  EXPECT_EQ(steps, 4 * 12.0) << "twelve measured steps of four ranks";
  EXPECT_TRUE(plot->xAxis->label().contains("[ms]")) << plot->xAxis->label().toStdString();
}

// The bars are means, because means add up; the line is a median. The bar “exposed” excludes waiting, which the tables
// include.
TEST_F(RanksPageTest, ThePlotLabelsMeansAndMedians) {
  open();
  auto& bars = *page_.findChild<BarsPlot*>();
  EXPECT_TRUE(bars.yAxis->label().startsWith("mean over steps [")) << bars.yAxis->label().toStdString();
  QStringList names;
  for (int i = 0; i < bars.plottableCount(); ++i) names << bars.plottable(i)->name();
  EXPECT_TRUE(names.contains("median step")) << names.join(", ").toStdString();
  EXPECT_TRUE(names.contains("exposed without waiting")) << names.join(", ").toStdString();
  EXPECT_FALSE(names.contains("exposed")) << names.join(", ").toStdString();
}

TEST_F(RanksPageTest, FollowsTheSharedMeasurement) {
  open();
  const std::int64_t dp = page_.findChild<QComboBox*>()->itemData(1).toLongLong();
  selection_.set_measurement(dp);
  wait();
  EXPECT_TRUE(summary().startsWith("DataParallel is one process")) << summary().toStdString();
  selection_.set_measurement(file_.ddp);
  wait();
  EXPECT_TRUE(summary().startsWith("Rank 3"));
}

TEST_F(RanksPageTest, OnlyTheSelectedTimeCounts) {
  open();
  EXPECT_FALSE(whole().isVisible());
  selection_.set_range(TimeRange{file_.ddp, 400 * test::ms, 700 * test::ms});
  wait();
  EXPECT_EQ(strip().strip().steps, (std::vector<std::int64_t>{2, 3, 4}));
  EXPECT_TRUE(range_text().startsWith("3 measured steps")) << range_text().toStdString();
  EXPECT_TRUE(range_text().contains("300 ms")) << range_text().toStdString();
  QTest::mouseClick(&whole(), Qt::LeftButton);
  wait();
  EXPECT_FALSE(selection_.range());
  EXPECT_EQ(strip().strip().steps.size(), 12U);
}

TEST_F(RanksPageTest, ARangeOfAnotherMeasurementIsIgnored) {
  open();
  const std::int64_t dp = page_.findChild<QComboBox*>()->itemData(1).toLongLong();
  selection_.set_range(TimeRange{dp, 0, 250 * test::ms});
  wait();
  EXPECT_EQ(page_.findChild<QComboBox*>()->currentText(), "dp N=2");
  EXPECT_EQ(range_text(), "1 measured step whose middle is in the selected 250 ms");
  EXPECT_EQ(strip().strip().steps, std::vector<std::int64_t>{0});
  selection_.set_measurement(file_.ddp);
  wait();
  EXPECT_EQ(range_text(), "Whole measurement: 12 measured steps");
  EXPECT_EQ(strip().strip().steps.size(), 12U);
}

// If a rank and a step have only one cell, the whole cell is coloured, as it is among many.
TEST_F(RanksPageTest, OneRanksOnlyStepIsACellOfTheUsualSize) {
  open();
  const std::int64_t dp = page_.findChild<QComboBox*>()->itemData(1).toLongLong();
  selection_.set_range(TimeRange{dp, 0, 250 * test::ms});
  wait();
  ASSERT_EQ(strip().strip().values.size(), 1U);
  const QImage picture = strip().toPixmap().toImage();
  const auto at = [&](double step, double rank) {
    return picture.pixelColor(static_cast<int>(strip().xAxis->coordToPixel(step)),
                              static_cast<int>(strip().yAxis->coordToPixel(rank)));
  };
  EXPECT_NE(at(0.0, 0.0), strip().palette().color(QPalette::Base));
  for (const double x : {-0.4, 0.4})
    for (const double y : {-0.4, 0.4}) EXPECT_EQ(at(x, y), at(0.0, 0.0)) << x << ", " << y;
}

TEST_F(RanksPageTest, AnotherColourAndWarmUpStepsAreComputedOnAnotherThread) {
  open();
  auto* quantity = page_.findChildren<QComboBox*>()[1];
  quantity->setCurrentIndex(1);
  EXPECT_EQ(strip().strip().quantity, StripQuantity::step) << "not yet";
  page_.findChild<QCheckBox*>()->setChecked(true);
  wait();
  EXPECT_EQ(strip().strip().quantity, StripQuantity::compute);
  EXPECT_EQ(strip().strip().steps.size(), 13U);
  EXPECT_EQ(page_.findChild<QLabel*>("cell")->text(), "rank 0, step 0 (warmup): compute 260 ms");
  // Chosen while the page still reads.
  selection_.set_range(TimeRange{file_.ddp, 400 * test::ms, 700 * test::ms});
  quantity->setCurrentIndex(4);
  wait();
  EXPECT_EQ(strip().strip().quantity, StripQuantity::waiting);
  EXPECT_EQ(strip().strip().steps, (std::vector<std::int64_t>{2, 3, 4}));
}

TEST_F(RanksPageTest, AReplacedFileIsNotRead) {
  const auto file = open_file(file_.path);
  const test::StragglerFile other;
  std::filesystem::rename(other.path, file_.path);
  page_.show();
  page_.show_file(file);
  wait();
  EXPECT_TRUE(message().contains("straggler.db")) << message().toStdString();
  EXPECT_TRUE(summary().isEmpty()) << summary().toStdString();
}

TEST_F(RanksPageTest, EachLetterLeadsToOneControl) {
  open();
  EXPECT_TRUE(clashing_letters(page_).isEmpty()) << clashing_letters(page_).join("; ").toStdString();
}

TEST_F(RanksPageTest, KeysMoveTheCursorAndChooseAStep) {
  open();
  auto& plot = strip();
  plot.setFocus();
  QTest::keyClick(&plot, Qt::Key_Right);
  QTest::keyClick(&plot, Qt::Key_Down);
  EXPECT_EQ(plot.cursor_step(), 1);
  EXPECT_EQ(plot.cursor_rank(), 1);
  EXPECT_EQ(page_.findChild<QLabel*>("cell")->text(), "rank 1, step 2 (measured): step 100 ms");
  QTest::keyClick(&plot, Qt::Key_End);
  EXPECT_EQ(plot.cursor_step(), 11);
  QTest::keyClick(&plot, Qt::Key_Right);
  EXPECT_EQ(plot.cursor_step(), 11) << "the cursor stays on the last step";
  QTest::keyClick(&plot, Qt::Key_Home);
  QTest::keyClick(&plot, Qt::Key_Return);
  ASSERT_TRUE(selection_.range());
  EXPECT_EQ(*selection_.range(), (TimeRange{file_.ddp, 300 * test::ms, 400 * test::ms}));
  wait();
  EXPECT_EQ(strip().strip().steps, std::vector<std::int64_t>{1});
  QTest::keyClick(&plot, Qt::Key_Escape);
  wait();
  EXPECT_FALSE(selection_.range());
}

// Contrast of the cursor on the brightest and on the darkest cell.
TEST_F(RanksPageTest, TheCursorStandsOutFromItsCell) {
  open();
  auto& plot = strip();
  for (const QPalette& palette : {light_palette(), dark_palette()}) {
    plot.setPalette(palette);
    for (int rank = 0; rank < static_cast<int>(plot.strip().ranks.size()); ++rank)
      for (int step = 0; step < static_cast<int>(plot.strip().steps.size()); ++step) {
        plot.set_cursor(rank, step);
        const QImage picture = plot.toPixmap().toImage();
        const auto at = [&](double x, double y) {
          return picture.pixelColor(static_cast<int>(plot.xAxis->coordToPixel(x)),
                                    static_cast<int>(plot.yAxis->coordToPixel(y)));
        };
        ASSERT_GE(contrast_ratio(plot.cursor_colour(), at(step, rank)), 4.5) << "rank " << rank << ", step " << step;
      }
  }
}

TEST_F(RanksPageTest, AClickMovesTheCursorAndADoubleClickChoosesTheStep) {
  open();
  auto& plot = strip();
  plot.replot();
  const QPoint cell(static_cast<int>(plot.xAxis->coordToPixel(4)), static_cast<int>(plot.yAxis->coordToPixel(3)));
  QTest::mouseClick(&plot, Qt::LeftButton, Qt::NoModifier, cell);
  EXPECT_EQ(plot.cursor_step(), 4);
  EXPECT_EQ(plot.cursor_rank(), 3);
  QTest::mouseClick(&plot, Qt::LeftButton, Qt::NoModifier, QPoint(1, 1));
  EXPECT_EQ(plot.cursor_step(), 4) << "outside of the strip";
  QTest::mouseDClick(&plot, Qt::LeftButton, Qt::NoModifier, cell);
  ASSERT_TRUE(selection_.range());
  EXPECT_EQ(selection_.range()->begin_ns, 700 * test::ms) << "step 5";
  wait();
}

// One imported rank of two: its waits are part of exposed communication, and the legend does not state otherwise.
TEST_F(RanksPageTest, OneRankOfSeveralShowsNoWaits) {
  metrics::RankTimes times;
  times.workers = 2;
  times.strategy = "ddp";
  times.hosts[0] = "a";
  times.steps.push_back({.rank = 0, .step = 1, .kind = "measured", .step_s = 0.2, .compute_s = 0.1, .exposed_s = 0.05});
  times.waits_known = false;
  BarsPlot plot;
  const auto listed = [&] {
    plot.show_bars(rank_bars(times));
    QStringList names;
    for (int i = 0; i < plot.plottableCount(); ++i)
      if (plot.legend->hasItemWithPlottable(plot.plottable(i))) names << plot.plottable(i)->name();
    return names;
  };
  EXPECT_TRUE(listed().contains("exposed with waiting")) << listed().join(", ").toStdString();
  EXPECT_FALSE(listed().contains("waiting for ranks")) << listed().join(", ").toStdString();
  times.waits_known = true;
  EXPECT_TRUE(listed().contains("exposed without waiting")) << listed().join(", ").toStdString();
  EXPECT_TRUE(listed().contains("waiting for ranks")) << listed().join(", ").toStdString();
}

TEST_F(RanksPageTest, TheLegendIsNotCutOffAtAnyWidth) {
  open();
  auto* bars = page_.findChild<BarsPlot*>();
  for (const int width : {280, 420, 900, 280}) {
    bars->resize(width, 400);
    bars->replot();
    const auto entries = legend_entries(*bars->legend);
    ASSERT_EQ(entries.size(), 7U);
    std::vector<QCPLayoutElement*> in_order;  // a job on CPUs has no entry for launches
    for (int i = 0; i < bars->plottableCount(); ++i)
      if (QCPAbstractLegendItem* item = bars->legend->itemWithPlottable(bars->plottable(i))) in_order.push_back(item);
    ASSERT_EQ(in_order.size(), 7U);
    for (std::size_t i = 0; i < entries.size(); ++i) {
      EXPECT_GE(entries[i]->outerRect().width(), entries[i]->minimumOuterSizeHint().width()) << width << ": " << i;
      EXPECT_LE(entries[i]->outerRect().right(), width) << i;
      EXPECT_EQ(entries[i], in_order[i]) << "their order";
    }
  }
}

TEST_F(RanksPageTest, FollowsThePalette) {
  open();
  auto* bars = page_.findChild<BarsPlot*>();
  EXPECT_EQ(bars->plottable(0)->brush().color(), colour(Colour::compute, light_palette()));
  page_.setPalette(dark_palette());
  EXPECT_EQ(bars->plottable(0)->brush().color(), colour(Colour::compute, dark_palette()));
  EXPECT_NE(colour(Colour::compute, light_palette()), colour(Colour::compute, dark_palette()));
}

// A trace without marked steps: its ranks did not end early.
TEST_F(RanksPageTest, ATraceWithoutStepsIsToldFromRanksThatEnded) {
  const QTemporaryDir folder;
  const std::filesystem::path path = std::filesystem::path(folder.path().toStdString()) / "trace.db";
  {
    ddpprof::test::SyntheticRun run(path);
    store::MeasurementRow row = ddpprof::test::train("ddp", 2);
    row.kind = "import";
    run.shard(run.measurement(row), 0);
    run.database.finish_load();
  }
  page_.show();
  page_.show_file(open_file(path));
  wait();
  EXPECT_TRUE(message().contains("the trace marks none")) << message().toStdString();
  EXPECT_TRUE(message().contains("prof.step()")) << message().toStdString();
}

TEST_F(RanksPageTest, ReadsWhenItIsShown) {
  page_.show_file(open_file(file_.path));
  EXPECT_FALSE(page_.reading()) << "hidden";
  page_.show();
  wait();
  EXPECT_TRUE(summary().startsWith("Rank 3"));
}

TEST_F(RanksPageTest, AMissingFileIsReported) {
  page_.show();
  const auto file = open_file(file_.path);
  std::filesystem::remove(file_.path);
  page_.show_file(file);
  wait();
  EXPECT_TRUE(message().contains("straggler.db")) << message().toStdString();
}

}  // namespace
}  // namespace ddpprof::gui
