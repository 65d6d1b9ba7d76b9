#include "gui/pages/learning_rate/learning_rate_page.hpp"

#include <SQLiteCpp/Database.h>
#include <gtest/gtest.h>

#include <QComboBox>
#include <QDoubleSpinBox>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSlider>
#include <QSpinBox>
#include <QTabWidget>
#include <QTemporaryDir>
#include <QTest>
#include <algorithm>

#include "analysis/report/tables/learning_rate/stored_rates.hpp"
#include "analysis/report/tables/models/model_tables.hpp"
#include "gui/pages/learning_rate/schedule_plot.hpp"
#include "gui/widgets/message_stack.hpp"
#include "tests/analysis/report/synthetic_run.hpp"
#include "tests/gui/accelerators.hpp"

namespace ddpprof::gui {
namespace {

class LearningRatePageTest : public testing::Test {
 protected:
  std::filesystem::path path(const char* name) { return std::filesystem::path(folder_.path().toStdString()) / name; }
  void open() {
    ddpprof::test::SyntheticRun run(path("run.db"));
    run.fill();
    show(path("run.db"));
  }
  void show(const std::filesystem::path& file) {
    page_.resize(1200, 800);
    page_.show();
    page_.show_file(open_file(file));
    wait();
  }
  void wait() {
    ASSERT_TRUE(QTest::qWaitFor([&] { return !page_.predicting(); }, 20000));
  }
  QString label(const char* name) { return page_.findChild<QLabel*>(name)->text(); }
  QSpinBox& box(const char* name) { return *page_.findChild<QSpinBox*>(name); }
  const report::Table& table(int tab) {
    auto* tabs = page_.findChild<QTabWidget*>();
    return dynamic_cast<TableOrMessage&>(*tabs->widget(tab)).view().model_of_table().table();
  }

  QTemporaryDir folder_;
  Selection selection_;
  LearningRatePage page_{selection_};
};

TEST_F(LearningRatePageTest, AFileWithoutATrainingSaysWhyAndWhatToDo) {
  page_.show();
  EXPECT_TRUE(label("message").contains("Ctrl+O"));
  store::Database::create(path("empty.db")).finish_load();
  show(path("empty.db"));
  EXPECT_TRUE(label("message").contains("has no measurement of a training")) << label("message").toStdString();
  EXPECT_TRUE(label("message").contains("ddpprof run"));
}

// The scenario: base rate 0.01 at batch 32, 10000 samples, N = 1, 2, 8, 16, 32, 64 (two measured, the others from
// predict).
TEST_F(LearningRatePageTest, StartsFromTheScenarioWithTheRowsOfTheCommandLine) {
  open();
  const auto file = open_file(path("run.db"));
  ASSERT_TRUE(file->learning_rate);
  const auto rows = fit::learning_rates(*file->learning_rate);
  EXPECT_EQ(table(0).rows, report::learning_rate_table(rows).rows);
  EXPECT_EQ(table(1).rows, report::warmup_table(rows).rows);
  EXPECT_EQ(box("workers").value(), rows.back().world_size) << "the largest N asked about";
  EXPECT_EQ(box("batch").value(), 32);
  EXPECT_EQ(page_.findChild<QDoubleSpinBox*>("base_lr")->value(), 0.01);
}

TEST_F(LearningRatePageTest, SliderAndBoxAreOneN) {
  open();
  auto* slider = page_.findChild<QSlider*>();
  slider->setValue(0);
  EXPECT_EQ(box("workers").value(), 1);
  slider->setValue(slider->maximum());
  EXPECT_EQ(box("workers").value(), 4096);
  box("workers").setValue(8);
  EXPECT_EQ(slider->value(), 48) << "three factors of two with sixteen positions each";
  EXPECT_TRUE(label("answer").startsWith("At N = 8 the global batch is 256 samples")) << label("answer").toStdString();
  EXPECT_TRUE(label("answer").contains("Linear rule: 0.08"));
  wait();
}

TEST_F(LearningRatePageTest, EveryEditIsInTheNextAnswerAndResetTakesItBack) {
  open();
  box("workers").setValue(8);
  page_.findChild<QDoubleSpinBox*>("base_lr")->setValue(0.1);
  EXPECT_TRUE(label("answer").contains("Linear rule: 0.8")) << label("answer").toStdString();
  box("batch").setValue(64);
  EXPECT_TRUE(label("answer").contains("the global batch is 512 samples"));
  box("epochs").setValue(2);
  EXPECT_TRUE(label("limits").contains("the target rate is never reached")) << label("limits").toStdString();
  QTest::mouseClick(page_.findChild<QPushButton*>(), Qt::LeftButton);
  EXPECT_EQ(box("batch").value(), 32);
  EXPECT_EQ(page_.inputs().options.base_lr, 0.01);
  EXPECT_FALSE(label("limits").contains("never reached"));
  wait();
}

// A box does not show a difference of 1e-9.
TEST_F(LearningRatePageTest, AnEditWritesOnlyItsOwnValue) {
  ddpprof::test::SyntheticRun run(path("run.db"));
  run.fill();
  auto file = std::make_shared<OpenedFile>(*open_file(path("run.db")));
  file->learning_rate->warmup_epochs = 0.125;
  file->learning_rate->base_lr = 0.0123456789123;
  page_.show();
  page_.show_file(file);
  wait();
  EXPECT_EQ(page_.findChild<QDoubleSpinBox*>("warmup_epochs")->value(), 0.125);
  box("workers").setValue(4);
  page_.findChild<QLineEdit*>("list")->setText("4");
  EXPECT_EQ(page_.inputs().options.warmup_epochs, 0.125);
  EXPECT_EQ(page_.inputs().options.base_lr, 0.0123456789123);
  fit::LearningRateOptions asked = *file->learning_rate;
  asked.workers = {4};
  EXPECT_EQ(table(0).rows, report::learning_rate_table(fit::learning_rates(asked)).rows) << "as ddpprof lr --workers 4";
  EXPECT_EQ(table(1).rows, report::warmup_table(fit::learning_rates(asked)).rows);
  wait();
}

// 10^8 · 10^5 samples on 10^6 workers exceed the integer limit, so the limit of one factor depends on the other.
TEST_F(LearningRatePageTest, TheGlobalBatchStaysWithinTheIntegerLimit) {
  open();
  box("batch").setValue(100'000'000);
  box("accumulation").setValue(100'000);
  EXPECT_EQ(box("batch").value(), 100'000'000);
  EXPECT_EQ(box("accumulation").value(), 90);
  box("workers").setValue(1'000'000);
  EXPECT_TRUE(label("answer").contains("the global batch is 9000000000000000 samples"))
      << label("answer").toStdString();
  QTest::mouseClick(page_.findChild<QPushButton*>(), Qt::LeftButton);
  EXPECT_EQ(box("batch").value(), 32);
  EXPECT_EQ(box("accumulation").maximum(), 100'000);
  wait();
}

TEST_F(LearningRatePageTest, TimesOfThePreviousFileAreClearedAtOnce) {
  open();
  ASSERT_FALSE(table(3).rows.empty());
  page_.show_file(open_file(path("run.db")));
  ASSERT_TRUE(page_.predicting());
  EXPECT_TRUE(table(3).rows.empty());
  wait();
  EXPECT_FALSE(table(3).rows.empty());
}

TEST_F(LearningRatePageTest, EachLetterLeadsToOneControl) {
  open();
  EXPECT_TRUE(clashing_letters(page_).isEmpty()) << clashing_letters(page_).join("; ").toStdString();
}

// With a decay the curves bend; the legend has the target rate, not the rate of the last step.
TEST_F(LearningRatePageTest, TheLegendNamesTheTargetOfACurveThatFalls) {
  ddpprof::test::SyntheticRun run(path("run.db"));
  run.fill();
  auto file = std::make_shared<OpenedFile>(*open_file(path("run.db")));
  file->learning_rate->decay.kind = learning_rate::DecayKind::cosine;
  page_.show();
  page_.show_file(file);
  wait();
  box("workers").setValue(8);
  const auto* plot = page_.findChild<SchedulePlot*>();
  EXPECT_EQ(plot->graph(0)->name(), "linear: 0.08");
  EXPECT_EQ(plot->graph(0)->dataCount(), 66);
  wait();
}

// Squared norms 20 and 12 in each of 40 steps: |G|² (64 · 12 − 32 · 20) / 32 = 4, tr(Σ) 8 · 64 = 512, φ 128 without
// spread.
TEST_F(LearningRatePageTest, TablesContainTheMeasuredData) {
  {
    ddpprof::test::SyntheticRun run(path("run.db"));
    run.fill();
    for (std::int64_t i = 4; i < 40; ++i)
      for (const std::int64_t shard : {2, 3})
        run.step(shard, i, (2000 + 200 * i) * ddpprof::test::ms, 120 * ddpprof::test::ms, 90 * ddpprof::test::ms, 0, 0,
                 0);
    run.database.sql().exec(
        "UPDATE step SET local_gradient_sqr = 20.0, gradient_sqr = 12.0, learning_rate = 0.01 WHERE shard_id IN (2, "
        "3)");
  }
  show(path("run.db"));
  ASSERT_EQ(table(8).name, "gradient_noise");
  ASSERT_EQ(table(8).rows.size(), 1U);
  EXPECT_NEAR(std::get<double>(table(8).rows[0].at(6)), 128.0, 1e-9);
  EXPECT_EQ(table(6).name, "large_batches");
  EXPECT_FALSE(table(6).rows.empty());
  EXPECT_EQ(table(7).name, "target_cost") << table(7).empty;
  EXPECT_EQ(table(9).name, "trained_rates");
  ASSERT_EQ(table(9).rows.size(), 1U);
  EXPECT_TRUE(label("limits").contains("Measured in this file: 128 (128 to 128) samples"))
      << label("limits").toStdString();
}

TEST_F(LearningRatePageTest, AWrongListIsReportedAndTheTablesStay) {
  open();
  auto* list = page_.findChild<QLineEdit*>("list");
  auto* problem = page_.findChild<QLabel*>("list_problem");
  box("workers").setValue(4);
  list->setText("4, 12");
  EXPECT_FALSE(problem->isVisible());
  EXPECT_EQ(table(0).rows.size(), 2U);
  list->setText("4, twelve");
  EXPECT_TRUE(problem->isVisible());
  EXPECT_TRUE(problem->text().startsWith("“twelve”")) << problem->text().toStdString();
  EXPECT_EQ(table(0).rows.size(), 2U) << "the last valid list";
  wait();
}

TEST_F(LearningRatePageTest, FitsASmallWindow) {
  open();
  EXPECT_LE(page_.minimumSizeHint().width(), 800);
  EXPECT_LE(page_.minimumSizeHint().height(), 560) << "700 less menu, bars and tabs";
  page_.resize(880, 560);
  for (const char* name : {"answer", "limits", "target"}) {
    auto* shown = page_.findChild<QLabel*>(name);
    EXPECT_GE(shown->height(), shown->heightForWidth(shown->width())) << name << " is cut off";
  }
}

TEST_F(LearningRatePageTest, PlotsByStepAndByEpoch) {
  open();
  box("workers").setValue(8);
  auto* plot = page_.findChild<SchedulePlot*>();
  EXPECT_TRUE(plot->xAxis->label().contains("step"));
  page_.findChild<QComboBox*>()->setCurrentIndex(1);
  EXPECT_TRUE(plot->xAxis->label().contains("epoch"));
  bool found = false;
  const QCPRange range = plot->graph(0)->getKeyRange(found);
  EXPECT_TRUE(found);
  EXPECT_DOUBLE_EQ(range.upper, 90.0);
  EXPECT_EQ(plot->graph(0)->name(), "linear: 0.08");
  wait();
}

TEST_F(LearningRatePageTest, SaysHowLongTheTrainingTakes) {
  open();
  page_.findChild<QLineEdit*>("list")->setText("1, 2");
  box("workers").setValue(2);
  wait();
  // Measured: ddp at N = 1 takes 100 ms for 32 samples, so 90 epochs of 313 steps take 2817 s.
  const report::Table& times = table(3);
  ASSERT_FALSE(times.rows.empty());
  EXPECT_EQ(times.rows[0][0], report::Cell("ddp"));
  EXPECT_EQ(times.rows[0][1], report::Cell(std::int64_t{1}));
  EXPECT_DOUBLE_EQ(std::get<double>(times.rows[0][4]), 2817.0);
  EXPECT_EQ(times.rows[0][7], report::Cell("46 min 57 s"));
}

TEST_F(LearningRatePageTest, TheChosenNIsInEveryTableAndTheCommandAsksForIt) {
  open();
  page_.findChild<QLineEdit*>("list")->setText("2, 8");
  box("workers").setValue(5);
  wait();
  EXPECT_EQ(page_.findChild<QLineEdit*>("command")->text(),
            QString("ddpprof lr %1 --workers 2,5,8 --rule all").arg(QString::fromStdString(path("run.db").string())));
  for (int tab = 0; tab < 4; ++tab) {
    const report::Table& shown = table(tab);
    const auto column = std::find_if(shown.columns.begin(), shown.columns.end(),
                                     [](const report::Column& one) { return one.name == "workers"; }) -
                        shown.columns.begin();
    EXPECT_TRUE(std::any_of(shown.rows.begin(), shown.rows.end(), [&](const report::Row& row) {
      return row[static_cast<std::size_t>(column)] == report::Cell(std::int64_t{5});
    })) << shown.name;
  }
}

// The synthetic run has four steps per measurement, too few for a mean of ten.
TEST_F(LearningRatePageTest, WithoutLossesNoTargetCanBeSetAndThePageSaysWhatIsMissing) {
  open();
  const auto* target = page_.findChild<QDoubleSpinBox*>("target_loss");
  EXPECT_FALSE(target->isEnabled());
  EXPECT_EQ(target->toolTip().toStdString(), "The file has no loss for 10 steps in a row");
  EXPECT_TRUE(table(4).rows.empty());
  EXPECT_NE(table(4).empty.find("measure.steps"), std::string::npos) << table(4).empty;
  EXPECT_EQ(label("target").toStdString(), table(4).empty);
}

TEST_F(LearningRatePageTest, ATargetLossIsChosenAndTakenBack) {
  {
    ddpprof::test::SyntheticRun run(path("run.db"));
    run.fill();
    // ddp at N = 1: the loss falls from 2.5 by 0.1 per step; smoothed it ends at 2.5 − 0.1 (39 − 4.5) = −0.95.
    const auto shard = run.shard(run.measurement(ddpprof::test::train("ddp", 1, 8)), 0);
    for (std::int64_t i = 0; i < 40; ++i)
      run.step(shard, i, (9000 + 100 * i) * ddpprof::test::ms, 100 * ddpprof::test::ms, 90 * ddpprof::test::ms, 0, 0, 0,
               8);
    run.database.sql().exec("UPDATE step SET loss = 2.5 - 0.1 * step WHERE samples = 8");
  }
  show(path("run.db"));
  auto* target = page_.findChild<QDoubleSpinBox*>("target_loss");
  ASSERT_TRUE(target->isEnabled());
  EXPECT_NEAR(target->value(), -0.95, 1e-8);
  EXPECT_FALSE(page_.inputs().target_loss) << "shown, not set by the user";
  const auto steps = [&] { return std::get<std::int64_t>(table(4).rows.at(0).at(5)); };
  EXPECT_EQ(steps(), 40);
  EXPECT_FALSE(page_.findChild<QLineEdit*>("command")->text().contains("--target-loss"));
  // Batch 8 took 40 steps, which are 320 samples; N = 2 with 32 each takes 5 steps of 64. The first mean takes 10
  // steps.
  box("workers").setValue(2);
  target->setValue(-0.95);
  wait();
  EXPECT_TRUE(label("target").contains("at N = 2: ddp 10 to 40 steps")) << label("target").toStdString();
  EXPECT_TRUE(label("target").contains("bounds from N = 1")) << label("target").toStdString();
  EXPECT_TRUE(label("target").contains("Shallue")) << label("target").toStdString();
  target->setValue(1.0);
  wait();
  EXPECT_EQ(steps(), 21) << "2.5 - 0.1 (t - 4.5) <= 1 from t = 19.5 on: step 20, the twenty-first";
  EXPECT_TRUE(page_.findChild<QLineEdit*>("command")->text().endsWith("--target-loss 1 --rule all"));
  QTest::mouseClick(page_.findChild<QPushButton*>(), Qt::LeftButton);
  wait();
  EXPECT_EQ(steps(), 40);
  EXPECT_NEAR(target->value(), -0.95, 1e-8);
}

}  // namespace
}  // namespace ddpprof::gui
