// A sharded training (FSDP): the tables of the page Scaling are those that its command prints, and its choice holds on
// the page Overview.
#include <gmock/gmock.h>

#include <QComboBox>
#include <QDoubleSpinBox>
#include <QPushButton>

#include "gui/models/jobs.hpp"
#include "gui/pages/overview/overview_page.hpp"
#include "gui/pages/scaling/scaling_page.hpp"
#include "gui/pages/scaling/sharded_panel.hpp"
#include "gui/widgets/knob.hpp"
#include "tests/analysis/predict/sharded_measurements.hpp"
#include "tests/gui/equality/shown_and_printed.hpp"

namespace ddpprof::gui {
namespace {

using test::expect_shown;
using test::printed;
using test::shown;
using test::tables_of;
using test::Texts;
using testing::HasSubstr;

class ShardedEquality : public fit::Sharded {
 protected:
  void SetUp() override {
    measure(1, {.device = "cuda", .noise = 0.02});
    measure(2, {.device = "cuda", .noise = 0.02});
    fit::PredictOptions options;
    options.workers = {1, 2, 4, 8};
    fit::write_predictions(database_, fit::predict_all(database_, options));
    database_.finish_load();
    window_.resize(1280, 720);
    window_.show();
    QSignalSpy opened(&window_, &MainWindow::opened);
    window_.open(QString::fromStdString(database_.path().string()));
    ASSERT_TRUE(QTest::qWaitFor([&] { return !opened.isEmpty(); }, test::patience_ms));
    window_.show_page("Scaling");
    ASSERT_TRUE(settles());
  }
  template <class Wanted>
  Wanted& page() {
    for (Page* one : window_.pages())
      if (auto* found = dynamic_cast<Wanted*>(one)) return *found;
    throw std::logic_error("the window has no such page");
  }
  whatif::ShardedPanel& panel() { return page<whatif::ScalingPage>().sharded(); }
  bool settles() {
    return QTest::qWaitFor(
        [&] { return !panel().busy() && !page<OverviewPage>().reading() && Job::running_now() == 0; },
        test::patience_ms);
  }
  void compare(const std::vector<std::string>& expected) {
    ASSERT_TRUE(settles());
    const Texts page = shown(panel()), shell = tables_of(printed(panel().command()));
    for (const auto& [name, text] : shell) expect_shown(page, name, text);
    for (const std::string& name : expected) EXPECT_TRUE(shell.contains(name)) << name;
  }

  MainWindow window_;
};

TEST_F(ShardedEquality, AsOpened) { compare({"predictions", "sharded_memory"}); }

TEST_F(ShardedEquality, WithKnobsTurned) {
  panel().number("workers")->box()->setValue(6);
  panel().number("bandwidth")->box()->setValue(1.7);
  panel().number("replicate")->box()->setValue(2);
  panel().list("precision")->combo()->setCurrentIndex(2);
  compare({"predictions", "what_if", "sharded_memory"});
}

TEST_F(ShardedEquality, TheChosenNHoldsOnOverview) {
  auto& overview = page<OverviewPage>();
  const auto expect_same_changes = [&](std::int64_t workers) {
    ASSERT_TRUE(settles());
    ASSERT_TRUE(overview.overview());
    const Overview& answer = *overview.overview();
    EXPECT_EQ(answer.changes_workers, workers);
    ASSERT_FALSE(answer.changes.empty());
    const report::Table& levers = panel().levers().model_of_table().table();
    ASSERT_LE(answer.changes.size(), levers.rows.size());
    for (std::size_t i = 0; i < answer.changes.size(); ++i)
      EXPECT_EQ(report::value_of<std::string>(levers, levers.rows[i], "change"), answer.changes[i].change);
  };
  expect_same_changes(8);
  const std::string before = overview.text().toStdString();
  panel().number("workers")->box()->setValue(16);
  panel().number("gpus_per_node")->box()->setValue(16);
  expect_same_changes(16);
  EXPECT_THAT(overview.text().toStdString(), HasSubstr("N = 16, 16 GPUs per node"));
  panel().reset_all()->click();
  expect_same_changes(8);
  EXPECT_EQ(overview.text().toStdString(), before);
}

}  // namespace
}  // namespace ddpprof::gui
