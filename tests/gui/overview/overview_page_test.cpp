// The page Overview as a user sees it: figures, links to pages, and the start without a file.
#include "gui/pages/overview/overview_page.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QComboBox>
#include <QLabel>
#include <QListWidget>
#include <QPushButton>
#include <QSettings>
#include <QSignalSpy>
#include <QTest>

#include "gui/models/recent_files.hpp"
#include "gui/pages/overview/start_panel.hpp"
#include "gui/pages/overview/step_bar.hpp"
#include "tests/gui/accelerators.hpp"
#include "tests/gui/overview/overview_file.hpp"

namespace ddpprof::gui {
namespace {

using testing::HasSubstr;

class OverviewPageTest : public testing::Test {
 protected:
  void open(const std::shared_ptr<const OpenedFile>& file) {
    page.resize(1280, 640);
    page.show();
    page.show_file(file);
    ASSERT_TRUE(QTest::qWaitFor([&] { return !page.reading(); }, 60'000));
    QCoreApplication::processEvents();
  }

  Selection selection;
  OverviewPage page{selection};
};

TEST_F(OverviewPageTest, ShowsTheAnswerWithoutAClick) {
  const OverviewFile file(OverviewFile::host_bound());
  open(file.open());
  ASSERT_TRUE(page.overview());
  const std::string text = page.text().toStdString();
  for (const KeyFigure& figure : page.overview()->figures) {
    EXPECT_THAT(text, HasSubstr(figure.title));
    EXPECT_THAT(text, HasSubstr(figure.figure));
    EXPECT_THAT(text, HasSubstr(figure.detail));
  }
  for (const UsefulChange& change : page.overview()->changes) EXPECT_THAT(text, HasSubstr(change.change));
  for (const auto& [about, warning] : page.overview()->warnings) EXPECT_THAT(text, HasSubstr(warning));
  EXPECT_TRUE(page.step_bar().isVisible());
}

TEST_F(OverviewPageTest, EveryFigureLinksToItsEvidence) {
  const OverviewFile file(OverviewFile::host_bound());
  open(file.open());
  const QSignalSpy asked(&page, &Page::page_requested);
  QStringList pages;
  int figures = 0;
  for (QLabel* label : page.findChildren<QLabel*>()) {
    if (!label->isVisible() || !label->text().contains("href=")) continue;
    figures += label->font().pixelSize() == 28;
    emit label->linkActivated(label->text().section("href=\"", 1, 1).section('"', 0, 0));
    pages << asked.back().front().toString();
  }
  EXPECT_EQ(figures, 4) << "each key figure is a link";
  for (const QString& title : pages)
    EXPECT_TRUE(QStringList({"Scaling", "Timeline", "Ranks", "Learning rate"}).contains(title)) << title.toStdString();
  const auto before = asked.count();
  QTest::mouseClick(&page.step_bar(), Qt::LeftButton);
  page.step_bar().setFocus();
  QTest::keyClick(&page.step_bar(), Qt::Key_Return);
  EXPECT_EQ(asked.count(), before + 2);
}

TEST_F(OverviewPageTest, TheLegendOfTheStepDoesNotOverlap) {
  StepBar bar;
  bar.show_step({{StepPart::compute, "compute", 0.174},
                 {StepPart::transfer, "exposed transfer", 0.004},
                 {StepPart::waiting, "waiting for slower ranks", 0.055},
                 {StepPart::launches, "waiting for the host's launches", 0.764},
                 {StepPart::other, "input and other", 0.003}});
  for (const int width : {300, 640, 1240}) {
    const std::vector<QRect> boxes = bar.legend_boxes(width);
    ASSERT_EQ(boxes.size(), 5U);
    for (std::size_t i = 0; i < boxes.size(); ++i) {
      EXPECT_LE(boxes[i].right(), width) << width;
      EXPECT_LE(boxes[i].bottom(), bar.heightForWidth(width));
      for (std::size_t j = 0; j < i; ++j) EXPECT_FALSE(boxes[i].intersects(boxes[j])) << width;
    }
  }
}

TEST_F(OverviewPageTest, WithoutAFileOffersTheFirstSteps) {
  QSettings().remove("recent_files");
  const OverviewFile file({});
  remember_file(QString::fromStdString(file.path.string()));
  remember_summary(QString::fromStdString(file.path.string()), "ddp at N = 4, 120 ms per step");
  page.resize(1000, 600);
  page.show();
  page.show_file(nullptr);
  auto* recent = page.findChild<QListWidget*>();
  ASSERT_EQ(recent->count(), 1);
  EXPECT_THAT(recent->item(0)->text().toStdString(), HasSubstr("run.db"));
  EXPECT_THAT(recent->item(0)->text().toStdString(), HasSubstr("ddp at N = 4, 120 ms per step"));
  const QSignalSpy open(&page, &Page::open_requested), choose(&page, &Page::choose_requested),
      other(&page, &Page::page_requested), example(&page, &Page::example_requested);
  emit recent->itemActivated(recent->item(0));  // no current item: nothing is opened
  recent->setCurrentRow(0);
  emit recent->itemActivated(recent->item(0));
  ASSERT_EQ(open.count(), 1);
  EXPECT_EQ(open.front().front().toString().toStdString(), file.path.string());
  for (const QPushButton* button : page.start().findChildren<QPushButton*>()) const_cast<QPushButton*>(button)->click();
  EXPECT_EQ(choose.count(), 1);
  ASSERT_EQ(other.count(), 1);
  EXPECT_EQ(other.front().front().toString(), "Runs");
  EXPECT_EQ(example.count(), 1);
}

// The interval on the page contains the effect of such a warning, so the box does not list it.
TEST_F(OverviewPageTest, NoWarningIsSaidOnlyIfTheFileHasNone) {
  const OverviewFile file(OverviewFile::host_bound());
  const auto with_uncertain = [&](int count) {
    store::Database database = store::Database::open_write(file.path);
    database.sql().exec("DELETE FROM diagnostic");
    for (int i = 0; i < count; ++i)
      database.sql().exec(
          "INSERT INTO diagnostic (severity, code, count, message, advice) VALUES ('warning', "
          "'prediction_uncertain', 1, 'the interval of N = " +
          std::to_string(i) + " is wide', 'measure more')");
    return file.open();
  };
  open(with_uncertain(0));
  ASSERT_TRUE(page.overview()->notices.rows.empty());
  EXPECT_THAT(page.text().toStdString(), HasSubstr("No warning."));
  open(with_uncertain(1));
  ASSERT_TRUE(page.overview()->warnings.empty());
  EXPECT_THAT(page.text().toStdString(), HasSubstr("One warning, with advice: Details above (F4)."));
  EXPECT_THAT(page.text().toStdString(), testing::Not(HasSubstr("No warning.")));
  open(with_uncertain(2));
  EXPECT_THAT(page.text().toStdString(), HasSubstr("2 warnings, with advice: Details above (F4)."));
}

TEST_F(OverviewPageTest, AFileWithoutAStepIsExplained) {
  const QTemporaryDir folder;
  const std::filesystem::path path = std::filesystem::path(folder.path().toStdString()) / "bare.db";
  store::Database::create(path).finish_load();
  open(open_file(path));
  EXPECT_THAT(page.text().toStdString(), HasSubstr("ddpprof run"));
  EXPECT_FALSE(page.step_bar().isVisible());
}

TEST_F(OverviewPageTest, TheNoteOfTheProfilerIsBesideTheWaitForLaunches) {
  const OverviewFile file(OverviewFile::host_bound());
  open(file.open());
  EXPECT_THAT(page.text().toStdString(), testing::Not(HasSubstr("The profiler itself slows launching")));
  store::Database::open_write(file.path)
      .sql()
      .exec("INSERT INTO diagnostic (severity, code, count, message, advice) VALUES ('warning', 'device_idle', 1, "
            "'the devices were idle', 'the profiler itself slows launching')");
  open(file.open());
  EXPECT_THAT(page.text().toStdString(), HasSubstr("The devices were idle. The profiler itself slows launching."));
}

TEST_F(OverviewPageTest, EachLetterLeadsToOneControl) {
  const OverviewFile file({});
  open(file.open());
  EXPECT_EQ(clashing_letters(page), QStringList());
}

}  // namespace
}  // namespace ddpprof::gui
