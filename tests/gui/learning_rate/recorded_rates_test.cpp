// The page of a recording or an import: the recorded rate, and what the user types beside it.
#include "gui/models/learning_rate/recorded_rates.hpp"

#include <SQLiteCpp/Database.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QScrollArea>
#include <QScrollBar>
#include <QSpinBox>
#include <QTabWidget>
#include <QTest>
#include <map>

#include "gui/models/overview/overview.hpp"
#include "gui/pages/learning_rate/learning_rate_page.hpp"
#include "gui/pages/learning_rate/schedule_plot.hpp"
#include "gui/widgets/message_stack.hpp"
#include "tests/gui/accelerators.hpp"
#include "tests/gui/overview/overview_file.hpp"

namespace ddpprof::gui {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// ddp at N = 1, 2, 4 with 32 samples per worker, predicted up to N = 64. No scenario.
class RecordedRatesTest : public testing::Test {
 protected:
  void open(const std::string& options, const std::string& more = "") {
    store::Database database = store::Database::open_write(recording.path);
    database.sql().exec("UPDATE measurement SET options = '" + options + "'");
    if (!more.empty()) database.sql().exec(more);
    file = recording.open();
    page.resize(1200, 800);
    page.show();
    page.show_file(file);
    wait();
  }
  void wait() {
    ASSERT_TRUE(QTest::qWaitFor([&] { return !page.predicting(); }, 20'000));
  }
  std::string label(const char* name) { return page.findChild<QLabel*>(name)->text().toStdString(); }
  QLineEdit& field(const char* name) { return *page.findChild<QLineEdit*>(name); }
  std::string command() { return field("command").text().toStdString(); }
  // The tables of the tabs that are shown, by name.
  std::map<std::string, report::Table> tables() {
    std::map<std::string, report::Table> all;
    const auto* tabs = page.findChild<QTabWidget*>();
    for (int i = 0; i < tabs->count(); ++i) {
      if (!tabs->isTabVisible(i)) continue;
      const report::Table& one = dynamic_cast<TableOrMessage&>(*tabs->widget(i)).view().model_of_table().table();
      all[one.name] = one;
    }
    return all;
  }

  const OverviewFile recording{fit::synthetic::Truth{}};
  std::shared_ptr<const OpenedFile> file;
  Selection selection;
  LearningRatePage page{selection};
};

constexpr const char* sgd = R"({"optimizer": "SGD", "learning_rate": 0.01})";

TEST_F(RecordedRatesTest, AreThoseOfTheOverviewToTheDigit) {
  open(sgd);
  const Overview overview = read_overview(*file);
  ASSERT_EQ(overview.rates.rows.size(), 5U) << "N = 1, 2, 4, 8, 64";
  EXPECT_EQ(tables().at("rate_choice").rows, overview.rates.rows);
  EXPECT_THAT(label("answer"), StartsWith("N = 64: " + rate_text(overview.rates, 4)));
  // 64 · 32 samples are 64 times the batch of N = 1.
  EXPECT_THAT(label("answer"), HasSubstr("N = 64: 0.64 (linear rule for SGD); square root rule: 0.08"));
  EXPECT_THAT(label("answer"), HasSubstr("Base rate: 0.01 (as recorded at N = 1), tuned at a global batch of 32 samples "
                                         "(assumed: that of N = 1, the smallest measured one)"));
  EXPECT_THAT(label("answer"), HasSubstr("Enter the samples of an epoch and the epochs"));
  EXPECT_EQ(command(), "ddpprof lr " + recording.path.string() + " --workers 1,2,4,8,64");
  EXPECT_FALSE(page.findChild<SchedulePlot*>()->isVisible()) << "the steps are not known";
  EXPECT_EQ(field("given_base").placeholderText(), "0.01 (recorded)");
  EXPECT_EQ(field("given_batch").placeholderText(), "32 (recorded)");
  EXPECT_EQ(field("given_epochs").placeholderText(), "not known");
}

TEST_F(RecordedRatesTest, WithTypedEpochsHaveStepsAndTimes) {
  open(sgd);
  field("given_samples").setText("20480");
  EXPECT_THAT(command(), Not(HasSubstr("--samples"))) << "the command refuses it without --epochs";
  field("given_epochs").setText("10");
  field("given_batch").setText("64");
  wait();
  EXPECT_TRUE(page.findChild<SchedulePlot*>()->isVisible());
  // 64 workers with 64 samples: 4096, 5 steps of an epoch; the base batch stays 32.
  EXPECT_THAT(label("answer"), StartsWith("N = 64: 1.28 (linear rule for SGD)"));
  EXPECT_THAT(label("answer"),
              HasSubstr("An epoch has 5 steps, the training 50, of them 25 of warm-up (5 epochs, assumed)."));
  EXPECT_THAT(label("answer"), HasSubstr("global batch of 32 samples"));
  EXPECT_THAT(command(), EndsWith("--batch-per-worker 64 --samples 20480 --epochs 10 --rule all"));
  EXPECT_EQ(tables().at("training_time").rows.size(), 5U);
  EXPECT_TRUE(tables().contains("learning_rate_schedules"));
  for (QPushButton* button : page.findChildren<QPushButton*>())
    if (button->text().contains("recorded")) button->click();
  EXPECT_EQ(field("given_epochs").text(), "");
  EXPECT_THAT(label("answer"), StartsWith("N = 64: 0.64"));
  EXPECT_FALSE(tables().contains("training_time"));
}

TEST_F(RecordedRatesTest, WithoutABaseRateAreFactors) {
  open(R"({"optimizer": "AdamW"})");
  EXPECT_THAT(label("answer"), StartsWith("N = 64: none (square root rule for AdamW)"));
  page.findChild<QSpinBox*>("workers")->setValue(4);
  EXPECT_THAT(label("answer"), StartsWith("N = 4: 2 × the tuned rate (square root rule for AdamW); linear rule: 4 ×"));
  EXPECT_THAT(label("answer"), HasSubstr("The base rate is not recorded"));
  EXPECT_EQ(field("given_base").placeholderText(), "not known");
  EXPECT_FALSE(tables().contains("learning_rate"));
  field("given_base").setText("0.003");
  EXPECT_THAT(label("answer"), StartsWith("N = 4: 0.006 (square root rule for AdamW)"));
  EXPECT_THAT(label("answer"), HasSubstr("Base rate: 0.003 (entered)"));
  EXPECT_THAT(command(), EndsWith("--base 0.003"));
  EXPECT_TRUE(tables().contains("learning_rate"));
}

TEST_F(RecordedRatesTest, WithoutAnOptimizerItCanBeChosen) {
  open(R"({"learning_rate": 0.01})");
  EXPECT_THAT(label("answer"), HasSubstr("The optimizer is not recorded"));
  auto* optimizer = page.findChild<QComboBox*>("given_optimizer");
  EXPECT_EQ(optimizer->itemText(0), "not known");
  optimizer->setCurrentIndex(2);
  page.findChild<QSpinBox*>("workers")->setValue(4);
  EXPECT_THAT(label("answer"), StartsWith("N = 4: 0.02 (square root rule for adaptive)"));
  EXPECT_THAT(command(), EndsWith("--optimizer adaptive"));
}

TEST_F(RecordedRatesTest, OfALayerwiseOptimizerCanBeThoseOfAnother) {
  open(R"({"optimizer": "FusedLAMB", "learning_rate": 0.01})");
  EXPECT_THAT(label("answer"), HasSubstr("(LAMB rule for FusedLAMB)"));
  page.findChild<QComboBox*>("given_optimizer")->setCurrentIndex(1);
  EXPECT_THAT(label("answer"), StartsWith("N = 64: 0.64 (linear rule for sgd)"));
}

TEST_F(RecordedRatesTest, OfAnUnknownBatchNeedTheBatch) {
  open(sgd, "UPDATE measurement SET batch_per_worker = 0; UPDATE step SET samples = 0");
  EXPECT_THAT(label("answer"), HasSubstr("enter the batch per worker"));
  field("given_batch").setText("16");
  EXPECT_THAT(label("answer"), StartsWith("N = 64: 0.64"));
  field("given_batch").setText("8");
  EXPECT_THAT(label("answer"), HasSubstr("global batch of 8 samples")) << "the base batch is that of N = 1";
}

TEST_F(RecordedRatesTest, AWrongTextIsReportedAndTheLastRateStays) {
  open(sgd);
  field("given_base").setText("0.1");
  const std::string before = label("answer");
  auto* problem = page.findChild<QLabel*>("given_problem");
  EXPECT_FALSE(problem->isVisible());
  for (const char* wrong : {"0", "-1", "0,1", "x", "nan"}) {
    field("given_base").setText(wrong);
    EXPECT_TRUE(problem->isVisible()) << wrong;
    EXPECT_THAT(problem->text().toStdString(), HasSubstr("expected a learning rate above 0")) << wrong;
    EXPECT_EQ(label("answer"), before) << wrong;
  }
  field("given_base").setText("");
  EXPECT_FALSE(problem->isVisible());
  field("given_batch").setText("100000000");
  field("given_accumulation").setText("100000");
  page.findChild<QSpinBox*>("workers")->setValue(1'000'000);
  EXPECT_THAT(label("answer"), Not(StartsWith("N ="))) << "the global batch is too large";
}

TEST_F(RecordedRatesTest, EachLetterLeadsToOneControl) {
  open(sgd);
  EXPECT_EQ(clashing_letters(page).join("; ").toStdString(), "");
}

TEST_F(RecordedRatesTest, FitASmallWindow) {
  open(sgd);
  EXPECT_LE(page.minimumSizeHint().width(), 800);
  page.resize(880, 400);
  QCoreApplication::processEvents();
  for (const auto* area : page.findChildren<QScrollArea*>())
    if (area->isVisible()) {
      EXPECT_EQ(area->horizontalScrollBar()->maximum(), 0) << "fields are cut off";
    }
  for (const char* name : {"answer", "limits"}) {
    auto* shown = page.findChild<QLabel*>(name);
    EXPECT_GE(shown->height(), shown->heightForWidth(shown->width())) << name << " is cut off";
  }
}

}  // namespace
}  // namespace ddpprof::gui
