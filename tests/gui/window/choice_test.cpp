// What is chosen on the page Scaling holds on the page Overview and in the bar of warnings.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QPushButton>
#include <QSignalSpy>
#include <QTest>
#include <algorithm>

#include "gui/models/jobs.hpp"
#include "gui/pages/overview/overview_page.hpp"
#include "gui/pages/scaling/knob_panel.hpp"
#include "gui/pages/scaling/scaling_page.hpp"
#include "gui/widgets/diagnostics_bar.hpp"
#include "gui/widgets/table_view.hpp"
#include "gui/window/main_window.hpp"
#include "tests/gui/overview/overview_file.hpp"

namespace ddpprof::gui {
namespace {

using testing::HasSubstr;
using testing::Not;

// GPUs of one node: from N = 16 on, links between nodes are needed that were not measured.
fit::synthetic::Truth one_node() {
  fit::synthetic::Truth truth;
  truth.nccl = true;
  truth.noise = 0.02;
  truth.alpha_s = 10e-6;
  truth.beta_s_per_byte = 2e-11;
  for (std::int64_t& bytes : truth.bucket_bytes) bytes *= 20;
  return truth;
}

class ChosenPrediction : public testing::Test {
 protected:
  void SetUp() override {
    window.show();
    QSignalSpy opened(&window, &MainWindow::opened);
    window.open(QString::fromStdString(file.path.string()));
    ASSERT_TRUE(QTest::qWaitFor([&] { return !opened.isEmpty(); }, 60'000));
    ASSERT_TRUE(settles());
  }

  template <class Wanted>
  Wanted& page() {
    for (Page* one : window.pages())
      if (auto* found = dynamic_cast<Wanted*>(one)) return *found;
    throw std::logic_error("the window has no such page");
  }
  OverviewPage& overview() { return page<OverviewPage>(); }
  whatif::ScalingPage& scaling() { return page<whatif::ScalingPage>(); }

  bool settles() {
    return QTest::qWaitFor(
        [&] {
          return !scaling().model().busy() && scaling().model().snapshot().complete && overview().overview() &&
                 !overview().reading() && Job::running_now() == 0;
        },
        60'000);
  }

  // The first changes of both pages: names, order and numbers.
  void expect_same_changes() {
    const Overview& shown = *overview().overview();
    const std::vector<whatif::Lever>& levers = scaling().model().levers();
    EXPECT_EQ(shown.changes_workers, scaling().model().knobs().workers);
    ASSERT_FALSE(shown.changes.empty());
    ASSERT_LE(shown.changes.size(), levers.size());
    for (std::size_t i = 0; i < shown.changes.size(); ++i) EXPECT_EQ(shown.changes[i].change, levers[i].change.change);
    const auto* table = scaling().levers().model();
    EXPECT_EQ(table->index(0, 0).data().toString().toStdString(), shown.changes.front().change);
    EXPECT_THAT(shown.changes.front().gain, HasSubstr(table->index(0, 2).data().toString().toStdString()))
        << "the low end of the gain";
  }

  static bool warns_of_links(const report::Table& notices) {
    return std::ranges::any_of(notices.rows, [&](const report::Row& row) {
      return report::value_of<std::string>(notices, row, "code") == "links_not_measured";
    });
  }
  const report::Table& bar() { return window.diagnostics().findChild<TableView*>()->model_of_table().table(); }

  const OverviewFile file{one_node()};
  MainWindow window;
};

TEST_F(ChosenPrediction, TheLinkBetweenNodesHoldsOnBothPages) {
  const std::string before = overview().text().toStdString();
  const std::vector<KeyFigure> figures = overview().overview()->figures;
  EXPECT_THAT(before, HasSubstr("the interval spans"));
  EXPECT_TRUE(warns_of_links(bar()));
  EXPECT_FALSE(window.selection().choice());
  expect_same_changes();

  ASSERT_EQ(scaling().knobs().set_link("100Gbit/s"), "");
  ASSERT_TRUE(settles());
  const std::string after = overview().text().toStdString();
  EXPECT_THAT(after, HasSubstr("link between nodes: 100Gbit/s")) << "the page names the choice";
  EXPECT_THAT(after, Not(HasSubstr("the interval spans")));
  EXPECT_THAT(after, HasSubstr("the interval assumes"));
  EXPECT_FALSE(warns_of_links(bar())) << "a named link is no warning";
  expect_same_changes();
  const std::vector<KeyFigure>& measured = overview().overview()->figures;
  ASSERT_EQ(measured.size(), figures.size());
  for (std::size_t i = 0; i < figures.size(); ++i) EXPECT_EQ(measured[i].figure, figures[i].figure) << figures[i].title;

  scaling().knobs().reset_all()->click();
  ASSERT_TRUE(settles());
  EXPECT_EQ(overview().text().toStdString(), before);
  EXPECT_TRUE(warns_of_links(bar()));
}

TEST_F(ChosenPrediction, TheNumberOfWorkersAndTheNodesHoldOnBothPages) {
  whatif::Knobs knobs = scaling().model().knobs();
  knobs.workers = 24;
  knobs.gpus_per_node = 12;
  scaling().model().set_knobs(knobs);
  ASSERT_TRUE(settles());
  const std::string text = overview().text().toStdString();
  EXPECT_THAT(text, HasSubstr("N = 24, 12 GPUs per node"));
  EXPECT_THAT(text, HasSubstr("What helps most at N = 24"));
  EXPECT_THAT(text, HasSubstr("N = 24: ")) << "its prediction";
  expect_same_changes();
}

TEST_F(ChosenPrediction, AnotherFileHasNoChoice) {
  ASSERT_EQ(scaling().knobs().set_link("hdr"), "");
  ASSERT_TRUE(settles());
  EXPECT_TRUE(window.selection().choice());
  const OverviewFile other(OverviewFile::host_bound());
  QSignalSpy opened(&window, &MainWindow::opened);
  window.open(QString::fromStdString(other.path.string()));
  ASSERT_TRUE(QTest::qWaitFor([&] { return !opened.isEmpty(); }, 60'000));
  ASSERT_TRUE(settles());
  EXPECT_FALSE(window.selection().choice());
  EXPECT_THAT(overview().text().toStdString(), Not(HasSubstr("hdr")));
}

}  // namespace
}  // namespace ddpprof::gui
