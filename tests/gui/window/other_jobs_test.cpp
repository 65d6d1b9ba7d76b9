// Files of trainings that are neither DDP nor DataParallel: the window names them, not missing steps.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QLabel>
#include <QSignalSpy>
#include <QTest>

#include "gui/models/jobs.hpp"
#include "gui/pages/fit/fit_page.hpp"
#include "gui/pages/scaling/scaling_page.hpp"
#include "gui/pages/scaling/sharded_panel.hpp"
#include "gui/widgets/diagnostics_bar.hpp"
#include "gui/window/main_window.hpp"

namespace ddpprof::gui {
namespace {

using testing::HasSubstr;
using testing::Not;

class OtherJobs : public testing::Test {
 protected:
  void open(const std::vector<std::filesystem::path>& paths) {
    window.show();
    const QSignalSpy yes(&window, &MainWindow::opened), no(&window, &MainWindow::not_opened);
    window.open(OpenRequest{paths, {}});
    ASSERT_TRUE(QTest::qWaitFor([&] { return yes.count() + no.count() > 0; }, 60'000));
    ASSERT_TRUE(no.isEmpty()) << no.front().front().toString().toStdString();
    ASSERT_TRUE(QTest::qWaitFor([] { return Job::running_now() == 0; }, 60'000));
    ASSERT_FALSE(window.file()->measurements.empty());
  }
  template <class Wanted>
  Wanted& page() {
    for (Page* one : window.pages())
      if (auto* found = dynamic_cast<Wanted*>(one)) return *found;
    throw std::logic_error("the window has no such page");
  }
  std::string fit_message() { return page<FitPage>().findChild<QLabel*>("message")->text().toStdString(); }
  // No page and no warning states that the steps, which the file has, are missing.
  void expect_no_missing_steps() {
    std::vector<std::string> texts = {window.diagnostics().text().toStdString()};
    for (const Page* one : {static_cast<const Page*>(&page<FitPage>()),
                            static_cast<const Page*>(&page<whatif::ScalingPage>())})
      for (const QLabel* label : one->findChildren<QLabel*>())
        if (label->isVisibleTo(one)) texts.push_back(label->text().toStdString());
    for (const std::string& text : texts) {
      EXPECT_THAT(text, Not(HasSubstr("no measured training step")));
      EXPECT_THAT(text, Not(HasSubstr("no training step")));
      EXPECT_THAT(text, Not(HasSubstr("No file is open")));
    }
  }

  MainWindow window;
};

TEST_F(OtherJobs, AShardedTrainingIsNamed) {
  const std::filesystem::path traces = std::filesystem::path(IMPORTED_TRACES) / "sharded" / "data" / "mlp";
  open({traces / "rank0.json.gz", traces / "rank1.json.gz"});
  EXPECT_EQ(window.file()->measurements.front().strategy, "fsdp");
  EXPECT_THAT(fit_message(), HasSubstr("Cannot fit a model: sharded data parallel: "));
  window.show_page("Scaling");
  EXPECT_TRUE(page<whatif::ScalingPage>().sharded().isVisible()) << "its own predictions";
  EXPECT_THAT(window.diagnostics().text().toStdString(), Not(HasSubstr("No prediction")));
  EXPECT_EQ(page<whatif::ScalingPage>().message().toStdString(), "");
  expect_no_missing_steps();
}

// Models with tables of embeddings (DLRM) and experts exchange parts all to all.
TEST_F(OtherJobs, ATrainingWithAllToAllsIsNamed) {
  open({std::filesystem::path(IMPORTED_TRACES) / "cases" / "data" / "kineto_old_torch_all_to_alls_taken_for_ddp" /
        "rank0.json.gz"});
  EXPECT_EQ(window.file()->measurements.front().strategy, "other");
  EXPECT_THAT(fit_message(), HasSubstr("Cannot fit a model: not data parallelism alone: "));
  EXPECT_THAT(fit_message(), HasSubstr("all-to-alls"));
  EXPECT_THAT(page<whatif::ScalingPage>().message().toStdString(),
              HasSubstr("Cannot predict from this file: not data parallelism alone: "));
  expect_no_missing_steps();
}

}  // namespace
}  // namespace ddpprof::gui
