// The scaling page in use: knobs change curves; the plot is read, saved and shown in other views.
#include "gui/pages/scaling/scaling_page.hpp"

#include <gtest/gtest.h>

#include <QAbstractButton>
#include <QButtonGroup>
#include <QCheckBox>
#include <QComboBox>
#include <QDir>
#include <QDoubleSpinBox>
#include <QFile>
#include <QHeaderView>
#include <QImage>
#include <QLineEdit>
#include <QPushButton>
#include <QSlider>
#include <QTest>
#include <QToolButton>
#include <fstream>
#include <set>

#include "analysis/import/tables/tables.hpp"
#include "gui/models/scaling/levers.hpp"
#include "gui/models/selection.hpp"
#include "gui/pages/scaling/knob_panel.hpp"
#include "gui/pages/scaling/scaling_plot.hpp"
#include "gui/plots/legend.hpp"
#include "gui/widgets/knob.hpp"
#include "gui/widgets/table_view.hpp"
#include "tests/gui/accelerators.hpp"
#include "tests/gui/scaling/scaling_page_fixture.hpp"

namespace ddpprof::gui::whatif {
namespace {

TEST_F(ScalingPageTest, ASliderMovesTheCurveToWhatThePredictorSays) {
  const TestFile file;
  const auto opened = file.open();
  open(opened);
  // Within the solid part: four times the largest measured N.
  const fit::Predictor predictor = fit::make_predictor(opened->models, "ddp", opened->predict);
  const double before = drawn(page.plot().predicted(), 16);
  EXPECT_EQ(before, fit::throughput(predictor.job(), 16, predictor.estimate(16).terms.step_s()));
  EXPECT_TRUE(page.plot().changed().line()->data()->isEmpty());

  QSlider* bandwidth = page.knobs().number(KnobId::bandwidth)->slider();
  bandwidth->setFocus();
  for (int i = 0; i < 8; ++i) QTest::keyClick(bandwidth, Qt::Key_Right);
  EXPECT_EQ(page.model().knobs().bandwidth, 2.0);
  ASSERT_TRUE(settles());
  fit::WhatIf change = fit::parse_what_if(std::vector<std::string>{"bandwidth=2x"});
  const double step_s = predictor.estimate(16, change).terms.step_s();
  EXPECT_EQ(drawn(page.plot().changed(), 16), fit::throughput(predictor.job(), 16, step_s, change));
  // The unchanged curve stays visible.
  EXPECT_EQ(drawn(page.plot().predicted(), 16), before);
  EXPECT_EQ(page.plot().measured().points()->data()->size(), 3);
  EXPECT_TRUE(page.model().command().ends_with("--what-if bandwidth=2x"));
  EXPECT_TRUE(page.summary().contains("bandwidth=2x"));
}

TEST_F(ScalingPageTest, ResetTakesTheChangeAway) {
  const TestFile file;
  open(file.open());
  page.knobs().number(KnobId::latency)->slider()->setValue(3);
  page.knobs().number(KnobId::batch)->slider()->setValue(20);
  ASSERT_TRUE(settles());
  EXPECT_TRUE(page.model().snapshot().changed);
  page.knobs().number(KnobId::latency)->reset_button()->click();
  EXPECT_EQ(page.model().knobs().latency, 1.0);
  EXPECT_NE(page.model().knobs(), page.model().measured());
  page.knobs().reset_all()->click();
  EXPECT_EQ(page.model().knobs(), page.model().measured());
  EXPECT_FALSE(page.knobs().number(KnobId::batch)->differs());
  ASSERT_TRUE(settles());
  EXPECT_FALSE(page.model().snapshot().changed);
  EXPECT_TRUE(page.plot().changed().line()->data()->isEmpty());
}

TEST_F(ScalingPageTest, TheChooserShowsEachQuantityWithItsUnit) {
  const TestFile file;
  open(file.open());
  const CurvePoint* at8 = page.model().snapshot().predicted.at(8);
  ASSERT_NE(at8, nullptr);
  EXPECT_FALSE(page.plot().ideal()->name().contains("unchanged"));
  const std::tuple<ScalingPlot::View, QString, double> views[] = {
      {ScalingPlot::View::throughput, "samples/s", at8->throughput.value},
      {ScalingPlot::View::speedup, "×", at8->speedup.value},
      {ScalingPlot::View::efficiency, "%", 100.0 * at8->efficiency.value},
      {ScalingPlot::View::step, "ms", 1e3 * at8->step_s.value}};
  for (const auto& [view, unit, value] : views) {
    view_button(view)->click();
    EXPECT_TRUE(page.plot().yAxis->label().contains("[" + unit + "]")) << page.plot().yAxis->label().toStdString();
    EXPECT_EQ(drawn(page.plot().predicted(), 8), value);
    EXPECT_FALSE(page.plot().ideal()->data()->isEmpty());
  }
  EXPECT_FALSE(page.plot().xAxis->label().isEmpty());
}

// Both curves have a speedup relative to the same one worker, and the legend names it.
TEST_F(ScalingPageTest, SpeedupOfAChangeIsOverOneWorkerWithoutIt) {
  const TestFile file;
  open(file.open());
  page.knobs().number(KnobId::compute)->box()->setValue(2.0);
  page.knobs().number(KnobId::workers)->box()->setValue(16.0);
  ASSERT_TRUE(settles());
  const Snapshot& shot = page.model().snapshot();
  const double one = shot.predicted.at(1)->throughput.value;
  for (const ScalingPlot::View view : {ScalingPlot::View::speedup, ScalingPlot::View::efficiency}) {
    view_button(view)->click();
    EXPECT_TRUE(page.plot().ideal()->name().contains("one unchanged worker"))
        << page.plot().ideal()->name().toStdString();
    const double unit = view == ScalingPlot::View::speedup ? 1.0 : 100.0 / 16.0;
    EXPECT_NEAR(drawn(page.plot().changed(), 16), unit * shot.changed->at(16)->throughput.value / one, 1e-9);
    EXPECT_NEAR(drawn(page.plot().predicted(), 16), unit * shot.predicted.at(16)->throughput.value / one, 1e-9);
  }
  // Weak efficiency keeps the batch per worker, and a change may not.
  EXPECT_EQ(page.plot().yAxis->label(), "efficiency [%]");
  // The speedup of `ddpprof predict --what-if` is the ratio of the two curves.
  EXPECT_NEAR(shot.changed->at(16)->speedup.value / shot.predicted.at(16)->speedup.value, shot.answer->what_if->speedup,
              1e-9);
  EXPECT_TRUE(page.summary().contains("the throughput of one unchanged worker"));
}

TEST_F(ScalingPageTest, ThePartsOfAStepAddUpToIt) {
  const TestFile file;
  open(file.open());
  view_button(ScalingPlot::View::split)->click();
  StackedAreas& stack = page.plot().stack();
  const auto top = stack.area(stack.size() - 1)->data();
  const Curve& curve = page.model().snapshot().predicted;
  ASSERT_EQ(static_cast<std::size_t>(top->size()), curve.points.size());
  auto edge = top->constBegin();
  for (const CurvePoint& point : curve.points) {
    EXPECT_EQ(edge->key, static_cast<double>(point.workers));
    EXPECT_NEAR(edge->value, 1e3 * point.step_s.value, 1e-6 * edge->value) << point.workers;
    ++edge;
  }
  // Compute that overlaps with a collective is drawn once.
  const CurvePoint& last = curve.points.back();
  EXPECT_NEAR((stack.area(1)->data()->constEnd() - 1)->value, 1e3 * last.terms.compute_s, 1e-6);
  EXPECT_TRUE(page.plot().reading(64).contains("exposed"));
}

TEST_F(ScalingPageTest, AMeasuredStepsPartsStandBesideTheModels) {
  const TestFile file(slow_links(), {1, 2, 4}, {1, 2});
  const auto opened = file.open();
  open(opened);
  EXPECT_TRUE(page.plot().bars().bar(0)->data()->isEmpty());
  view_button(ScalingPlot::View::split)->click();
  const auto expect_bars = [&](const std::string& strategy, std::size_t size) {
    StackedBars& bars = page.plot().bars();
    ASSERT_EQ(bars.size(), size);
    const std::vector<MeasuredPoint> measured = measured_points(opened->configurations, strategy);
    for (std::size_t i = 0; i < measured.size(); ++i) {
      const StepParts of = parts(measured[i]);
      const auto height = [&](std::size_t part) {
        const auto at = bars.bar(part)->data()->at(static_cast<int>(i));
        EXPECT_EQ(at->key, static_cast<double>(measured[i].workers));
        return at->value;
      };
      EXPECT_EQ(height(0), 1e3 * of.compute_s);
      EXPECT_EQ(height(size == 7 ? 2 : 1), 1e3 * of.exposed_s);
      EXPECT_EQ(height(size - 3), 0.0) << "no kernel was recorded";
      EXPECT_EQ(height(size - 2), 1e3 * of.input_s);
      EXPECT_EQ(height(size - 1), 1e3 * of.other_s);
    }
    EXPECT_EQ(bars.bar(0)->data()->size(), static_cast<int>(measured.size()));
    EXPECT_TRUE(page.plot().reading(2).contains(
        "(measured " + QString::fromStdString(figure_text(parts(measured[1]).exposed_s, Quantity::step)) + ")"));
  };
  expect_bars("ddp", 7);
  EXPECT_FALSE(page.plot().reading(64).contains("measured"));
  page.knobs().choice(KnobId::strategy)->combo()->setCurrentIndex(1);
  ASSERT_TRUE(settles());
  expect_bars("dp", 5);
}

TEST_F(ScalingPageTest, LabelsFitTheSizeThatIsDrawn) {
  const TestFile file;
  open(file.open());
  ScalingPlot plot;
  plot.resize(300, 300);
  plot.show();
  plot.show_snapshot(page.model().snapshot());
  plot.grab();
  // A narrow plot drops the label of a visible region, and a wide plot draws it.
  std::vector<bool> narrow, wide;
  for (std::size_t i = 0; i < 3; ++i) narrow.push_back(plot.region(i).label_visible());
  plot.resize(3000, 300);
  const QImage drawn = plot.grab().toImage();
  for (std::size_t i = 0; i < 3; ++i) wide.push_back(plot.region(i).label_visible());
  EXPECT_NE(narrow, wide) << "the sizes hide no label: the test compares nothing";
  // The next snapshot would draw this curve instead.
  plot.show_snapshot(page.model().snapshot());
  plot.replot();
  EXPECT_EQ(drawn, plot.grab().toImage());
}

TEST_F(ScalingPageTest, SentencesOfThePreviousFileAreCleared) {
  const TestFile first;
  open(first.open());
  EXPECT_TRUE(page.summary().contains("At N = 64"));
  const TestFile second;
  page.show_file(second.open());
  EXPECT_EQ(page.summary().trimmed(), "");
  ASSERT_TRUE(settles());
  EXPECT_TRUE(page.summary().contains("At N = 64"));
}

TEST_F(ScalingPageTest, EachAcceleratorLeadsToOnePlace) {
  const TestFile file;
  open(file.open());
  EXPECT_EQ(clashing_letters(page), QStringList());
}

TEST_F(ScalingPageTest, TheTablesBeginWithWhatIsAsked) {
  const TestFile file;
  open(file.open());
  page.resize(1280, 740);
  ASSERT_TRUE(QTest::qWaitFor([&] { return page.levers().isVisible() && page.predictions().isVisible(); }));
  // Filled while another page was shown, as after opening a file on the page Runs.
  page.hide();
  const TestFile next;
  page.show_file(next.open());
  ASSERT_TRUE(settles());
  page.show();
  const auto visible = [](const TableView& view, const QString& heading) {
    const QHeaderView* header = view.horizontalHeader();
    for (int i = 0; i < header->count(); ++i) {
      if (!view.model()->headerData(i, Qt::Horizontal).toString().startsWith(heading)) continue;
      const int left = header->sectionViewportPosition(i);
      return left >= 0 && left + header->sectionSize(i) <= view.viewport()->width();
    }
    return false;
  };
  for (const char* heading : {"change", "speedup", "low", "high"})
    EXPECT_TRUE(visible(page.levers(), heading)) << heading;
  EXPECT_TRUE(visible(page.predictions(), "N"));
  for (const char* heading : {"step", "90 % low", "90 % high"})
    EXPECT_TRUE(visible(page.predictions(), heading)) << heading;
}

TEST_F(ScalingPageTest, TheAxisIsLogarithmicOrLinear) {
  const TestFile file;
  open(file.open());
  EXPECT_TRUE(page.plot().logarithmic());
  EXPECT_EQ(page.plot().yAxis->scaleType(), QCPAxis::stLogarithmic);
  page.findChild<QCheckBox*>()->click();
  EXPECT_FALSE(page.plot().logarithmic());
  EXPECT_EQ(page.plot().yAxis->scaleType(), QCPAxis::stLinear);
  EXPECT_LE(page.plot().xAxis->range().lower, 1.0);
  EXPECT_GE(page.plot().xAxis->range().upper, 64.0);
}

TEST_F(ScalingPageTest, TheMouseReadsAndPicksN) {
  const TestFile file;
  open(file.open());
  ScalingPlot& plot = page.plot();
  plot.replot();
  const QPoint at(static_cast<int>(std::lround(plot.xAxis->coordToPixel(8.0))), plot.axisRect()->center().y());
  QTest::mouseMove(&plot, at);
  QMouseEvent move(QEvent::MouseMove, at, plot.mapToGlobal(at), Qt::NoButton, Qt::NoButton, Qt::NoModifier);
  QCoreApplication::sendEvent(&plot, &move);
  EXPECT_EQ(plot.crosshair_workers(), 8);
  const std::string said = figure_text(page.model().snapshot().predicted.at(8)->throughput.value, Quantity::throughput);
  EXPECT_TRUE(plot.reading(8).contains(QString::fromStdString(said)));
  QTest::mouseClick(&plot, Qt::LeftButton, {}, at);
  EXPECT_EQ(page.model().knobs().workers, 8);
  EXPECT_EQ(page.knobs().number(KnobId::workers)->value(), 8.0);
  ASSERT_TRUE(settles());
  EXPECT_TRUE(page.summary().startsWith("At N = 8"));
  QTest::keyClick(&plot, Qt::Key_Right);
  EXPECT_EQ(page.model().knobs().workers, 9);
  QTest::keyClick(&plot, Qt::Key_End);
  EXPECT_EQ(page.model().knobs().workers, 64);
}

TEST_F(ScalingPageTest, ShadesTheSharesUpToCommunicationBound) {
  const TestFile file;
  open(file.open());
  const std::vector<fit::Knee>& knees = page.model().snapshot().predicted_knees;
  ASSERT_EQ(knees.size(), 3U);
  for (std::size_t i = 0; i < knees.size(); ++i) {
    ASSERT_TRUE(knees[i].workers) << "with these links communication dominates";
    const bool hidden_by_next = i + 1 < knees.size() && knees[i + 1].workers == knees[i].workers;
    EXPECT_EQ(page.plot().region(i).visible(), !hidden_by_next);
    if (hidden_by_next) continue;
    EXPECT_EQ(page.plot().region(i).from(), static_cast<double>(*knees[i].workers));
  }
  // Measured up to 4, so N above 16 is far and is hatched.
  EXPECT_TRUE(page.plot().far().visible());
  EXPECT_GT(page.plot().far().from(), 16.0);
  EXPECT_TRUE(page.summary().contains("⚠ Warning"));
  EXPECT_TRUE(page.summary().contains("Communication-bound first at N = " + QString::number(*knees.back().workers)));
}

TEST_F(ScalingPageTest, ShowsWhichChangeHelpsMost) {
  const TestFile file;
  open(file.open());
  const report::Table& table = page.levers().model_of_table().table();
  ASSERT_EQ(table.rows.size(), page.model().levers().size());
  ASSERT_FALSE(table.rows.empty());
  EXPECT_EQ(std::get<double>(table.rows.front()[1]), page.model().levers().front().change.effect.speedup);
  const int rows = page.predictions().model_of_table().rowCount();
  EXPECT_EQ(rows, static_cast<int>(page.model().tables_workers().size()));
  // A long note of a row is outside of the visible columns.
  for (int row = 1; row < rows; ++row)
    EXPECT_EQ(page.predictions().rowHeight(row), page.predictions().rowHeight(0)) << row;
}

// Narrower than the width for all entries in one row.
TEST_F(ScalingPageTest, NoLegendIsCutOff) {
  const TestFile file;
  open(file.open());
  page.knobs().number(KnobId::bandwidth)->box()->setValue(2.0);
  page.knobs().choice(KnobId::dedicated)->combo()->setCurrentIndex(1);
  ASSERT_TRUE(settles());
  ScalingPlot plot;
  plot.resize(700, 400);
  plot.show();
  std::set<int> columns;
  for (const int width : {260, 330, 420, 520, 640, 800, 1000, 1300}) {
    for (int view = 0; view < 5; ++view) {
      plot.resize(width, 400);
      plot.set_view(static_cast<ScalingPlot::View>(view));
      plot.show_snapshot(page.model().snapshot());
      plot.replot();
      columns.insert(plot.legend->columnCount());
      for (const QCPAbstractLegendItem* entry : legend_entries(*plot.legend)) {
        const QRect rect = entry->outerRect();
        EXPECT_TRUE(plot.viewport().contains(rect)) << width << " " << view;
        EXPECT_GE(rect.width(), entry->minimumOuterSizeHint().width()) << width << " " << view;
        EXPECT_LE(rect.bottom(), plot.axisRect()->rect().top()) << width << " " << view;
      }
    }
  }
  EXPECT_GT(columns.size(), 1U) << "no width needs another row: the test compares nothing";
}

TEST_F(ScalingPageTest, SavesPictures) {
  const TestFile file;
  open(file.open());
  const QTemporaryDir folder;
  const QString png = folder.filePath("scaling.png"), svg = folder.filePath("scaling.svg");
  page.plot().save_png(png);
  const QImage image(png);
  EXPECT_EQ(image.width(), 2 * page.plot().width());
  page.plot().save_svg(svg);
  QFile text(svg);
  ASSERT_TRUE(text.open(QIODevice::ReadOnly));
  const QByteArray bytes = text.readAll();
  EXPECT_TRUE(bytes.contains("<svg"));
  EXPECT_TRUE(bytes.contains("workers N"));
  EXPECT_THROW(page.plot().save_png("/no/such/folder/x.png"), std::runtime_error);
}

TEST_F(ScalingPageTest, FollowsThePalette) {
  const TestFile file;
  open(file.open());
  page.setPalette(light_palette());
  const QColor light = page.plot().predicted().line()->pen().color();
  page.setPalette(dark_palette());
  EXPECT_NE(page.plot().predicted().line()->pen().color(), light);
}

TEST_F(ScalingPageTest, ATableOfStepTimesShowsWhatWasPredictedFromIt) {
  const QTemporaryDir folder;
  const std::filesystem::path path = folder.filePath("steps.db").toStdString();
  {
    store::Database database = store::Database::create(path, store::Replace::yes);
    std::vector<fit::StepRow> rows;
    for (const auto& [workers, step_s] : {std::pair{1, 0.1}, {2, 0.14}, {4, 0.17}, {8, 0.19}})
      rows.push_back({workers, workers, 8, step_s});
    import::import_step_table(database, rows, "net");
    database.finish_load();
    fit::PredictOptions options;
    options.workers = {8, 16, 32};
    fit::write_predictions(database, fit::predict_all(database, options));
  }
  page.show_file(open_file(path));
  EXPECT_TRUE(page.message().contains("ddpprof predict FILE --workers N"));
  ASSERT_EQ(page.stored_tables().size(), 1U) << "a table of step times has no changes";
  EXPECT_EQ(page.stored_tables().front()->model_of_table().rowCount(), 3);
  page.show_file(nullptr);
  EXPECT_TRUE(page.stored_tables().empty());
}

TEST_F(ScalingPageTest, AFileWithoutModelsShowsTheReason) {
  EXPECT_TRUE(page.message().contains("No file is open"));
  const QTemporaryDir folder;
  const std::filesystem::path path = folder.filePath("empty.db").toStdString();
  { store::Database::create(path, store::Replace::yes); }
  const auto opened = open_file(path);
  ASSERT_FALSE(opened->models);
  page.show_file(opened);
  EXPECT_TRUE(page.message().contains("no measured training step")) << page.message().toStdString();
  EXPECT_TRUE(page.message().contains("ddpprof run SCENARIO.yaml")) << "what to do";
  EXPECT_FALSE(page.knobs().isEnabled());
  const TestFile file;
  open(file.open());
  EXPECT_EQ(page.message(), "");
  page.show_file(nullptr);
  EXPECT_TRUE(page.message().contains("No file is open"));
}

TEST_F(ScalingPageTest, UnmeasuredStrategiesAreDisabled) {
  const TestFile file;
  open(file.open());
  QComboBox* combo = page.knobs().choice(KnobId::strategy)->combo();
  const auto enabled = [&](const char* key) {
    return combo->model()->flags(combo->model()->index(combo->findData(key), 0)).testFlag(Qt::ItemIsEnabled);
  };
  EXPECT_TRUE(enabled("zero3"));
  EXPECT_FALSE(enabled("dp"));
  combo->setCurrentIndex(combo->findData("ps"));
  EXPECT_TRUE(page.knobs().number(KnobId::servers)->isVisibleTo(&page));
  ASSERT_TRUE(settles());
  EXPECT_TRUE(page.summary().contains("strategy=ps"));
}

TEST_F(ScalingPageTest, WithoutSamplesStepsAreShownAndNoThroughput) {
  const TestFile file;
  file.forget_samples();
  open(file.open());
  EXPECT_FALSE(view_button(ScalingPlot::View::throughput)->isEnabled());
  EXPECT_TRUE(view_button(ScalingPlot::View::step)->isChecked());
  EXPECT_GT(drawn(page.plot().predicted(), 16), 0.0);
  EXPECT_FALSE(page.summary().contains("samples/s"));
  for (const CurvePoint& point : page.model().snapshot().predicted.points) {
    EXPECT_GT(point.efficiency.value, 0.0) << point.workers;
    EXPECT_GT(point.speedup.value, 0.0) << point.workers;
  }
  const TestFile known;
  page.show_file(known.open());
  ASSERT_TRUE(settles());
  EXPECT_TRUE(view_button(ScalingPlot::View::throughput)->isEnabled());
}

TEST_F(ScalingPageTest, EverythingIsReachedByTheKeyboard) {
  const TestFile file;
  open(file.open());
  for (const QWidget* widget : page.findChildren<QWidget*>()) {
    const bool control = qobject_cast<const QSlider*>(widget) || qobject_cast<const QComboBox*>(widget) ||
                         qobject_cast<const QAbstractButton*>(widget);
    if (!control || !widget->isVisible() || widget->objectName().startsWith("qt_")) continue;
    if (widget->parentWidget()->inherits("QTabBar") || widget->parentWidget()->inherits("QTableView")) continue;
    EXPECT_TRUE(widget->focusPolicy() & Qt::TabFocus) << widget->metaObject()->className();
    if (!qobject_cast<const QAbstractButton*>(widget)) {
      EXPECT_FALSE(widget->accessibleName().isEmpty()) << widget->metaObject()->className();
    }
  }
  EXPECT_FALSE(page.keys().empty());
}

}  // namespace
}  // namespace ddpprof::gui::whatif
