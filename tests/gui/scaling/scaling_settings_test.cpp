// Settings of the scaling page: knobs, rows of the table of knobs, the link between nodes, another file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QAction>
#include <QComboBox>
#include <QDoubleSpinBox>
#include <QLineEdit>
#include <QPushButton>
#include <QTest>
#include <QToolButton>
#include <fstream>

#include "gui/models/scaling/levers.hpp"
#include "gui/pages/scaling/knob_panel.hpp"
#include "gui/widgets/knob.hpp"
#include "gui/widgets/table_view.hpp"
#include "tests/gui/scaling/scaling_page_fixture.hpp"

namespace ddpprof::gui::whatif {
namespace {

// A device that waits for launches half of each phase: the wait has its own part, measured and predicted, a knob, and a
// row among the changes. Other jobs have none of them.
TEST_F(ScalingPageTest, AHostBoundJobHasAPartAndAKnobForTheHost) {
  fit::synthetic::Truth truth = slow_links();
  truth.idle_share = 0.6;
  const TestFile file(truth), other;
  const auto knob_shown = [&] { return page.knobs().number(KnobId::host)->isVisibleTo(&page); };
  const auto levers = [&] {
    return std::ranges::count(page.model().levers(), "host=2x", [](const Lever& one) { return one.change.change; });
  };
  open(other.open());
  EXPECT_FALSE(knob_shown());
  EXPECT_EQ(levers(), 0);
  const auto opened = file.open();
  open(opened);
  EXPECT_TRUE(knob_shown());
  EXPECT_EQ(levers(), 1);
  view_button(ScalingPlot::View::split)->click();
  constexpr std::size_t host = 4;
  StackedAreas& stack = page.plot().stack();
  const auto height_ms = [&](std::size_t part, std::int64_t workers) {
    return stack.area(part)->data()->findBegin(static_cast<double>(workers), false)->value;
  };
  for (const std::int64_t workers : {1, 2, 3, 4}) {  // N = 3 is predicted, the others are measured
    const double host_ms = height_ms(host, workers) - height_ms(host - 1, workers);
    EXPECT_NEAR(host_ms, 1e3 * page.model().snapshot().shown().at(workers)->terms.host_s, 1e-6) << workers;
    EXPECT_NEAR(height_ms(1, workers) / height_ms(1, 1), 1.0, 0.05) << "compute is alike at N = " << workers;
    EXPECT_TRUE(page.plot().reading(workers).contains("waiting for launches")) << workers;
  }
}

TEST_F(ScalingPageTest, AnUnknownBatchIsNotAChange) {
  KnobPanel panel;
  Knobs unknown;
  unknown.batch = 0;
  panel.show_knobs(unknown, unknown);
  EXPECT_FALSE(panel.number(KnobId::batch)->differs());
  EXPECT_FALSE(panel.number(KnobId::batch)->isEnabled());
}

TEST_F(ScalingPageTest, AMeasuredValueBeyondAKnobsRangeIsNotAChange) {
  KnobPanel panel;
  Knobs measured;
  measured.accumulation = 512;
  measured.bucket_cap_mb = 2000.0;
  measured.batch = 100'000;
  panel.show_knobs(measured, measured);
  for (const KnobId id : {KnobId::accumulation, KnobId::bucket_cap, KnobId::batch})
    EXPECT_FALSE(panel.number(id)->differs());
  Knobs told;
  QObject::connect(&panel, &KnobPanel::changed, &panel, [&](const Knobs& knobs) { told = knobs; });
  panel.number(KnobId::bandwidth)->box()->setValue(2.0);
  EXPECT_EQ(what_if_items(told, measured), std::vector<std::string>{"bandwidth=2x"});
}

// Sets the knob of the row alone, so that the prediction shown has the row's speedup. A click only selects.
TEST_F(ScalingPageTest, ARowOfTheTableSetsItsKnobAlone) {
  const TestFile file(few_cores());
  open(file.open());
  page.knobs().number(KnobId::latency)->box()->setValue(0.75);
  ASSERT_TRUE(settles());
  TableView& table = page.levers();
  table.sortByColumn(0, Qt::AscendingOrder);  // another order than the model's
  const auto at = [&](const QString& words) {
    for (int row = 0; row < table.model()->rowCount(); ++row)
      if (table.model()->index(row, 0).data().toString() == words) return table.model()->index(row, 0);
    ADD_FAILURE() << "no row " << words.toStdString();
    return QModelIndex();
  };
  QString said;
  QObject::connect(&page, &Page::status_message, &page, [&](const QString& text) { said = text; });
  const Knobs before = page.model().knobs();
  Knobs expected = page.model().measured();

  table.setCurrentIndex(at("compute=2x"));
  EXPECT_EQ(page.model().knobs(), before) << "selecting a row sets no knob";
  QTest::keyClick(&table, Qt::Key_Return);
  expected.compute = 2.0;
  EXPECT_EQ(page.model().knobs(), expected);
  EXPECT_EQ(page.knobs().number(KnobId::compute)->value(), 2.0);
  EXPECT_TRUE(page.knobs().number(KnobId::compute)->reset_button()->isEnabled());
  EXPECT_TRUE(said.contains("compute=2x")) << said.toStdString();

  table.scrollTo(at("sharing=dedicated"));
  const QPoint cores = table.visualRect(at("sharing=dedicated")).center();
  QTest::mouseClick(table.viewport(), Qt::LeftButton, {}, cores);
  EXPECT_EQ(page.model().knobs(), expected) << "a click chooses a row for copying";
  QTest::mouseDClick(table.viewport(), Qt::LeftButton, {}, cores);
  expected = page.model().measured();
  expected.dedicated = true;
  EXPECT_EQ(page.model().knobs(), expected) << "not in addition to the compute speed";
  EXPECT_EQ(page.knobs().choice(KnobId::dedicated)->value(), "dedicated");
  ASSERT_TRUE(settles());
  for (const Lever& lever : page.model().levers())
    EXPECT_NE(lever.change.change, "sharing=dedicated") << "these cores are already set";

  page.knobs().reset_all()->click();
  EXPECT_EQ(page.model().knobs(), page.model().measured());
  EXPECT_FALSE(said.contains("Set")) << "after the reset: " << said.toStdString();
}

// A part of "25Gbit/s" must not become a factor.
TEST_F(ScalingPageTest, ATextThatIsNoFactorIsRefusedAsAWhole) {
  const TestFile file;
  open(file.open());
  QString said;
  QObject::connect(&page, &Page::status_message, &page, [&](const QString& text) { said = text; });
  QDoubleSpinBox* box = page.knobs().number(KnobId::bandwidth)->box();
  const auto type = [&](const char* text) {
    said.clear();
    box->setFocus();
    box->selectAll();
    QTest::keyClicks(box, text);
    QTest::keyClick(box, Qt::Key_Return);
  };
  type("25Gbit/s");
  EXPECT_EQ(page.model().knobs().bandwidth, 1.0);
  EXPECT_TRUE(said.contains("25Gbit/s") && said.contains("Link between nodes")) << said.toStdString();
  EXPECT_EQ(box->text().toStdString(), "1.000 ×");
  type("25");
  EXPECT_EQ(page.model().knobs().bandwidth, 1.0);
  EXPECT_TRUE(said.contains("expected 0.050 × to 20.000 ×")) << said.toStdString();
  type("3");
  EXPECT_EQ(page.model().knobs().bandwidth, 3.0);
  EXPECT_EQ(said, "");
}

// Several nodes whose link was not measured: the window asks for it, and a named link narrows the interval.
TEST_F(ScalingPageTest, GpusPerNodeAskForTheLinkBetweenNodes) {
  fit::synthetic::Truth truth = slow_links();
  truth.own_hosts = false;
  truth.alpha_s = 10e-6;
  truth.beta_s_per_byte = 2e-11;  // faster than most links between nodes
  for (std::int64_t& bytes : truth.bucket_bytes) bytes *= 20;
  const TestFile file(truth);
  open(file.open());
  const auto interval = [&](std::int64_t per_node, const QString& link) {
    page.knobs().number(KnobId::gpus_per_node)->box()->setValue(static_cast<double>(per_node));
    EXPECT_EQ(page.knobs().set_link(link).toStdString(), "");
    EXPECT_TRUE(settles());
    return page.model().snapshot().answer->prediction;
  };
  const fit::Prediction one_node = interval(64, "usual");
  EXPECT_FALSE(page.knobs().asks_for_link());
  const fit::Prediction eight_nodes = interval(8, "usual");
  EXPECT_TRUE(page.knobs().asks_for_link());
  EXPECT_TRUE(page.summary().section('\n', 1).trimmed().startsWith("⚠ Warning")) << page.summary().toStdString();
  EXPECT_TRUE(page.summary().contains("links between nodes were not measured"));
  EXPECT_GT(eight_nodes.step_high_s, 1.2 * one_node.step_high_s);
  const fit::Prediction named = interval(8, "100Gbit/s");
  EXPECT_FALSE(page.knobs().asks_for_link());
  EXPECT_LT(named.step_high_s - named.step_low_s, eight_nodes.step_high_s - eight_nodes.step_low_s);
  EXPECT_TRUE(page.model().command().find(" --gpus-per-node 8 --inter-node 100Gbit/s") != std::string::npos);
  // The same numbers as ddpprof predict.
  fit::PredictOptions options = page.model().file()->predict;
  options.workers = {64};
  options.gpus_per_node = 8;
  options.inter_node = collective::parse_node_links("100Gbit/s");
  const auto printed = fit::predict_all(page.model().file()->models, options).predictions.front();
  EXPECT_EQ(named.step_s, printed.step_s);
  EXPECT_EQ(named.step_low_s, printed.step_low_s);
  EXPECT_EQ(named.step_high_s, printed.step_high_s);
  EXPECT_TRUE(page.knobs().set_link("fast").contains("fast")) << "not a link";
  EXPECT_EQ(page.model().knobs().inter_node, "100Gbit/s");
}

// A log of the links that are predicted replaces the fitted ones. The knobs stay as they are.
TEST_F(ScalingPageTest, ALogOfTheLinksKeepsTheQuestion) {
  const TestFile file;
  const std::filesystem::path log = std::filesystem::path(file.folder.path().toStdString()) / "links.log";
  std::ofstream(log) << "# nThread 1 nGpus 1 minBytes 1048576 maxBytes 33554432 step: 2(factor)\n"
                        "#  Rank  0 Group  0 Pid  1 on  a device  0 [0x00] NVIDIA\n"
                        "#  Rank  1 Group  0 Pid  2 on  b device  0 [0x00] NVIDIA\n"
                        "#  size  count  type  redop  root  time  algbw  busbw #wrong\n"
                        "1048576 262144 float sum -1 500.0 2.10 2.10 0\n"
                        "33554432 8388608 float sum -1 9000.0 3.73 3.73 0\n";
  open(file.open());
  page.knobs().number(KnobId::workers)->box()->setValue(16.0);
  ASSERT_TRUE(settles());
  const double before_s = page.model().snapshot().answer->prediction.step_s;
  page.show_file(open_file(file.path, {}, {log}));
  ASSERT_TRUE(settles());
  EXPECT_EQ(page.model().knobs().workers, 16);
  EXPECT_NE(page.model().snapshot().answer->prediction.step_s, before_s);
  EXPECT_NE(page.model().command().find("--all-reduce " + log.string()), std::string::npos) << page.model().command();
}

TEST_F(ScalingPageTest, AutomaticNamesTheGpusPerNodeItStandsFor) {
  fit::synthetic::Truth one_host = slow_links();
  one_host.own_hosts = false;
  const auto shown = [&](const TestFile& file) {
    open(file.open());
    return page.knobs().number(KnobId::gpus_per_node)->box()->text().toStdString();
  };
  EXPECT_EQ(shown(TestFile(one_host)), "automatic (8)") << "at least 8 of GPUs";
  EXPECT_EQ(shown(TestFile(slow_links())), "automatic (1)") << "every rank was measured on a host of its own";
  EXPECT_EQ(shown(TestFile(few_cores())), "automatic (all)") << "ranks on CPUs share one host";
}

// Each label has its own share and its own N: a label is not always above its bracket.
TEST_F(ScalingPageTest, LabelsOfKneesNameTheirShareAndTheirN) {
  const TestFile file(slow_links());
  open(file.open());
  const std::vector<fit::Knee>& knees = page.model().snapshot().predicted_knees;
  int shown = 0;
  for (std::size_t i = 0; i < knees.size(); ++i) {
    const Region& region = page.plot().region(i);
    if (!region.visible()) continue;
    ++shown;
    const std::string label = region.label().toStdString();
    EXPECT_THAT(label, testing::HasSubstr("exposed > " + std::to_string(std::lround(100.0 * knees[i].share)) + " %"));
    EXPECT_THAT(label, testing::HasSubstr("from N = " + std::to_string(*knees[i].workers)));
  }
  EXPECT_GT(shown, 1);
  EXPECT_EQ(page.plot().far().label().toStdString(), "beyond 4 × the largest measured N (dashed)");
}

// The import's notes about the profiler are shown beside the term host, which the profiler makes larger.
TEST_F(ScalingPageTest, TheTermHostHasTheNoteOfTheProfiler) {
  fit::synthetic::Truth truth = slow_links();
  truth.idle_share = 0.6;
  const TestFile with_note(truth), without(truth);
  store::Database::open_write(with_note.path)
      .sql()
      .exec("INSERT INTO diagnostic (severity, code, count, message, advice) VALUES ('info', 'profiler_cost', 1, "
            "'a step takes 1 s without the profiler', 'step times are those without it')");
  const std::string note = "A step takes 1 s without the profiler. Step times are those without it.";
  open(with_note.open());
  EXPECT_EQ(page.model().file()->profiler_note, note);
  EXPECT_THAT(page.summary().toStdString(), testing::HasSubstr(note));
  open(without.open());
  EXPECT_THAT(page.summary().toStdString(), testing::Not(testing::HasSubstr("profiler")));
}

// GPUs have no cores of the host to share.
TEST_F(ScalingPageTest, CoresAreOfJobsOnCpusAlone) {
  const TestFile on_gpus, on_cpus(few_cores());
  const auto levers = [&] {
    return std::ranges::count(page.model().levers(), "sharing=dedicated",
                              [](const Lever& one) { return one.change.change; });
  };
  open(on_gpus.open());
  EXPECT_FALSE(page.knobs().choice(KnobId::dedicated)->isVisibleTo(&page));
  EXPECT_EQ(levers(), 0);
  open(on_cpus.open());
  EXPECT_TRUE(page.knobs().choice(KnobId::dedicated)->isVisibleTo(&page));
  EXPECT_EQ(levers(), 1);
}

// The box of values stays inside the widget at both edges of the plot, also of a narrow one.
TEST_F(ScalingPageTest, TheBoxOfValuesIsNotCutOff) {
  const TestFile file;
  open(file.open());
  view_button(ScalingPlot::View::split)->click();
  for (const int width : {1280, 940}) {
    page.resize(width, 740);
    QCoreApplication::processEvents();
    ScalingPlot& plot = page.plot();
    const QRect axes = plot.axisRect()->rect();
    for (const double share : {0.0, 0.3, 0.5, 0.7, 1.0}) {
      const QPoint at(axes.left() + static_cast<int>(share * axes.width()), axes.center().y());
      QTest::mouseMove(&plot, at);
      ASSERT_TRUE(QTest::qWaitFor([&] { return plot.crosshair_workers().has_value(); }));
      const QRectF box = plot.crosshair_box();
      EXPECT_GE(box.left(), 0.0) << width << " " << share;
      EXPECT_LE(box.right(), plot.width()) << width << " " << share;
    }
  }
}

// Nothing of the first file stays below the second one's title.
TEST_F(ScalingPageTest, PlotTablesAndCommandOfThePreviousFileAreCleared) {
  const TestFile first;
  open(first.open());
  ASSERT_FALSE(page.plot().predicted().line()->data()->isEmpty());
  const TestFile second;
  page.show_file(second.open());
  EXPECT_TRUE(page.plot().predicted().line()->data()->isEmpty());
  EXPECT_TRUE(page.plot().measured().points()->data()->isEmpty());
  EXPECT_EQ(page.levers().model()->rowCount(), 0);
  EXPECT_EQ(page.predictions().model()->rowCount(), 0);
  QString shown;
  for (const QLineEdit* line : page.findChildren<QLineEdit*>())
    if (line->text().startsWith("ddpprof predict")) shown = line->text();
  EXPECT_TRUE(shown.contains(QString::fromStdString(second.path.string()))) << shown.toStdString();
  ASSERT_TRUE(settles());
}

TEST(CompactNumber, HasNoExponent) {
  EXPECT_EQ(compact_number(0.0).toStdString(), "0");
  EXPECT_EQ(compact_number(0.25).toStdString(), "0.25");
  EXPECT_EQ(compact_number(9999.0).toStdString(), "9999");
  EXPECT_EQ(compact_number(20'000.0).toStdString(), "20 k");
  EXPECT_EQ(compact_number(999'999.9999999).toStdString(), "1 M");
  EXPECT_EQ(compact_number(1e6).toStdString(), "1 M");
  EXPECT_EQ(compact_number(2.5e9).toStdString(), "2.5 G");
  EXPECT_EQ(compact_number(-3e6).toStdString(), "-3 M");
  for (const double small : {1e-3, 1e-4, 1e-5}) EXPECT_FALSE(compact_number(small).contains('e')) << small;
}

// The areas below the curves are free for them: a knee is a bracket at the top.
TEST_F(ScalingPageTest, KneesAreThinBrackets) {
  const TestFile file(slow_links());
  open(file.open());
  int shown = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    const Region& knee = page.plot().region(i);
    if (!knee.visible()) continue;
    ++shown;
    EXPECT_LE(knee.height_px(), 6.0);
  }
  EXPECT_GT(shown, 0) << "slow links have a knee";
}

// The page beside the rail on screens of 1280 × 720, 1920 × 1080 and 1920 × 1080 at scale 2, and the smallest plot.
TEST_F(ScalingPageTest, LabelsOfThePlotDoNotOverlap) {
  const TestFile file(slow_links());
  open(file.open());
  ScalingPlot& plot = page.plot();
  std::size_t most = 0;
  const auto check = [&](const std::string& where) {
    plot.replot();
    const std::vector<QRectF> boxes = plot.label_boxes();
    most = std::max(most, boxes.size());
    const QRectF inside = QRectF(plot.axisRect()->rect()).adjusted(-1.0, -1.0, 1.0, 1.0);
    for (std::size_t i = 0; i < boxes.size(); ++i) {
      EXPECT_GE(boxes[i].top(), inside.top()) << where;
      EXPECT_LE(boxes[i].bottom(), inside.bottom()) << where;
      EXPECT_GE(boxes[i].left(), 0.0) << where;
      EXPECT_LE(boxes[i].right(), plot.width()) << where;
      for (std::size_t j = i + 1; j < boxes.size(); ++j)
        EXPECT_FALSE(boxes[i].intersects(boxes[j])) << where << ": labels " << i << " and " << j;
    }
  };
  for (const QSize size : {QSize(1170, 630), QSize(1810, 990), QSize(890, 450)}) {
    page.resize(size);
    for (const int workers : {2, 64}) {
      page.knobs().number(KnobId::workers)->box()->setValue(workers);
      ASSERT_TRUE(settles());
      for (const auto view : {ScalingPlot::View::throughput, ScalingPlot::View::step, ScalingPlot::View::split}) {
        view_button(view)->click();
        check(std::to_string(size.width()) + " wide, N = " + std::to_string(workers));
      }
    }
  }
  EXPECT_GE(most, 3U) << "too few labels: the test compares nothing";
  plot.setMaximumSize(240, 160);
  QCoreApplication::processEvents();
  check("the smallest plot");
}

TEST_F(ScalingPageTest, UndoAndRedoChangeTheKnobsAndTheirControls) {
  const TestFile file;
  open(file.open());
  const auto press = [&](const QString& text) {
    for (QAction* action : page.actions())
      if (action->text().startsWith(text)) return action->trigger();
    ADD_FAILURE() << "no action " << text.toStdString();
  };
  const Knobs first = page.model().knobs();
  page.knobs().number(KnobId::bandwidth)->box()->setValue(2.0);
  const Knobs second = page.model().knobs();
  ASSERT_NE(second, first);
  Choice& overlap = *page.knobs().choice(KnobId::overlap);
  overlap.combo()->setCurrentIndex(overlap.combo()->findData("off"));
  ASSERT_NE(page.model().knobs(), second);
  press("Undo");
  EXPECT_EQ(page.model().knobs(), second);
  EXPECT_EQ(overlap.value(), "on");
  press("Undo");
  EXPECT_EQ(page.model().knobs(), first);
  EXPECT_EQ(page.knobs().number(KnobId::bandwidth)->value(), 1.0);
  press("Undo");
  EXPECT_EQ(page.model().knobs(), first) << "there is no earlier state";
  press("Redo");
  EXPECT_EQ(page.model().knobs(), second);
  EXPECT_EQ(page.knobs().number(KnobId::bandwidth)->value(), 2.0);
  ASSERT_TRUE(settles());
  EXPECT_TRUE(page.model().snapshot().changed);
}

}  // namespace
}  // namespace ddpprof::gui::whatif
