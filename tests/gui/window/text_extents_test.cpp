// No text of the window is cut off: at the sizes of small and of usual screens, in the program's own style and font.
#include <gtest/gtest.h>

#include <QAbstractButton>
#include <QApplication>
#include <QComboBox>
#include <QFontMetrics>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QScrollArea>
#include <QScrollBar>
#include <QSignalSpy>
#include <QSvgRenderer>
#include <QTabBar>
#include <QTabWidget>
#include <QTest>

#include "gui/models/jobs.hpp"
#include "gui/pages/page.hpp"
#include "gui/pages/scaling/scaling_page.hpp"
#include "gui/plots/colours.hpp"
#include "gui/plots/design.hpp"
#include "gui/plots/plot.hpp"
#include "gui/widgets/table_view.hpp"
#include "gui/window/icons.hpp"
#include "gui/window/main_window.hpp"
#include "gui/window/rail.hpp"
#include "gui/window/style.hpp"
#include "tests/analysis/predict/sharded_measurements.hpp"
#include "tests/gui/overview/overview_file.hpp"
#include "tests/gui/window/files.hpp"

namespace ddpprof::gui {
namespace {

using test::Folder;

bool quiet() {
  const bool done = QTest::qWaitFor([] { return Job::running_now() == 0; }, 60'000);
  QCoreApplication::processEvents();
  return done;
}

// A text may be cut off if its tooltip has the whole text.
bool has_whole_tooltip(const QWidget& widget, const QString& text) { return widget.toolTip().contains(text); }

// A training with FSDP on one and on two GPUs.
class ShardedFile : public fit::Sharded {
 public:
  void TestBody() override {}
  std::filesystem::path make() {
    measure(1, {.device = "cuda"});
    measure(2, {.device = "cuda"});
    fit::PredictOptions options;
    options.workers = {1, 2, 4, 8};
    fit::write_predictions(database_, fit::predict_all(database_, options));
    database_.finish_load();
    return database_.path();
  }
};

class DesignedWindow : public testing::Test {
 protected:
  static void SetUpTestSuite() { apply_design(); }
  void SetUp() override {
    test::write_sound(folder / "run.db");
    window = std::make_unique<MainWindow>();
    window->show();
    open(folder / "run.db");
  }
  void open(const std::filesystem::path& path) {
    QSignalSpy opened(window.get(), &MainWindow::opened);
    window->open(QString::fromStdString(path.string()));
    ASSERT_TRUE(QTest::qWaitFor([&] { return !opened.isEmpty(); }, 30'000));
    ASSERT_TRUE(quiet());
  }
  QTabWidget& tabs() { return *window->findChild<QTabWidget*>(); }
  Rail& rail() { return *window->findChild<Rail*>(); }
  void expect_whole_texts() {
    for (const Page* page : window->pages()) {
      EXPECT_LE(page->minimumSizeHint().width(), 952 - rail().minimumSizeHint().width()) << page->title().toStdString();
      EXPECT_LE(page->minimumSizeHint().height(), 448) << page->title().toStdString();
    }
    for (const QSize size : {QSize(1272, 680), QSize(952, 504), QSize(1912, 1040)}) {
      window->resize(size);
      for (int page = 0; page < tabs().count(); ++page) {
        if (!tabs().isTabVisible(page)) continue;
        tabs().setCurrentIndex(page);
        ASSERT_TRUE(quiet());
        const std::string where = tabs().tabText(page).toStdString() + " at " + std::to_string(size.width()) + ": ";
        EXPECT_LE(window->width(), size.width()) << where;
        EXPECT_LE(window->height(), size.height()) << where;
        const auto check = [&](const QWidget* widget, const QString& text) {
          if (!widget->isVisible() || text.isEmpty() || has_whole_tooltip(*widget, text)) return;
          EXPECT_GE(widget->width(), widget->sizeHint().width()) << where << text.toStdString();
          EXPECT_GE(widget->height() + 2, widget->minimumSizeHint().height()) << where << text.toStdString();
        };
        const QWidget* shown = tabs().currentWidget();
        for (const auto* button : shown->findChildren<QAbstractButton*>()) check(button, button->text());
        for (const auto* box : shown->findChildren<QComboBox*>())
          if (box->sizeAdjustPolicy() != QComboBox::AdjustToMinimumContentsLengthWithIcon) check(box, box->currentText());
        for (const auto* label : shown->findChildren<QLabel*>()) {
          if (!label->wordWrap()) {
            check(label, label->text());
          } else if (label->isVisible() && !has_whole_tooltip(*label, label->text())) {
            EXPECT_GE(label->height() + 2, label->heightForWidth(label->width())) << where << label->text().toStdString();
          }
        }
        for (const auto* field : shown->findChildren<QLineEdit*>()) {
          // A path is as long as its folders are.
          if (!field->isVisible() || field->placeholderText().startsWith('/')) continue;
          EXPECT_GE(field->width(), field->fontMetrics().horizontalAdvance(field->placeholderText()))
              << where << field->placeholderText().toStdString();
        }
        for (const auto* bar : shown->findChildren<QTabBar*>()) {
          if (!bar->isVisible()) continue;
          for (int i = 0; i < bar->count(); ++i) {
            if (!bar->isTabVisible(i)) continue;
            EXPECT_GE(bar->tabRect(i).width(), bar->fontMetrics().size(Qt::TextShowMnemonic, bar->tabText(i)).width())
                << where << bar->tabText(i).toStdString();
          }
        }
        for (const auto* table : shown->findChildren<TableView*>()) {
          if (!table->isVisible()) continue;
          const QHeaderView* header = table->horizontalHeader();
          for (int i = 0; i < header->count(); ++i) {
            const QString text = header->model()->headerData(i, Qt::Horizontal).toString();
            EXPECT_GE(header->sectionSize(i), header->fontMetrics().horizontalAdvance(text))
                << where << text.toStdString();
          }
        }
      }
    }
  }

  const Folder folder;
  std::unique_ptr<MainWindow> window;
};

TEST_F(DesignedWindow, NoTextIsCutOff) { expect_whole_texts(); }

// Its page Learning rate has other fields than that of a scenario.
TEST_F(DesignedWindow, NoTextOfARecordingIsCutOff) {
  const OverviewFile file({});
  store::Database::open_write(file.path)
      .sql()
      .exec("UPDATE measurement SET options = '{\"optimizer\": \"FusedAdamW\", \"learning_rate\": 0.01}'");
  open(file.path);
  expect_whole_texts();
  for (const auto& [field, text] : {std::pair{"given_samples", "50000"}, {"given_epochs", "10"}, {"given_base", "x"}})
    window->findChild<QLineEdit*>(field)->setText(text);
  expect_whole_texts();
}

// Its page Scaling has other knobs.
TEST_F(DesignedWindow, NoTextOfAShardedJobIsCutOff) {
  ShardedFile file;
  open(file.make());
  expect_whole_texts();
}

// Its tables are filled while another page is shown, so they have no width yet.
TEST_F(DesignedWindow, TheRankedChangesAreWholeAfterOpeningOnTheRunsPage) {
  window = std::make_unique<MainWindow>();
  window->resize(1280, 720);
  window->show();
  window->show_page("Runs");
  open(folder / "run.db");
  ASSERT_EQ(tabs().tabText(tabs().currentIndex()).remove('&'), "Runs");
  window->show_page("Scaling");
  ASSERT_TRUE(quiet());
  whatif::ScalingPage* page = nullptr;
  for (Page* one : window->pages())
    if (auto* scaling = dynamic_cast<whatif::ScalingPage*>(one)) page = scaling;
  ASSERT_TRUE(page && page->isVisible());
  TableView& levers = page->levers();
  const QAbstractItemModel& changes = *levers.model();
  ASSERT_TRUE(QTest::qWaitFor([&] { return changes.rowCount() > 1; }, 60'000));
  ASSERT_EQ(changes.columnCount(), 6);
  const QHeaderView& header = *levers.horizontalHeader();
  for (int i = 0; i < 4; ++i)  // change, speedup and its interval, without scrolling
    EXPECT_LE(header.sectionViewportPosition(i) + header.sectionSize(i), levers.viewport()->width()) << i;
  for (int row = 0; row < changes.rowCount(); ++row)
    for (int column = 0; column < changes.columnCount(); ++column) {
      const QModelIndex at = changes.index(row, column);
      const std::string text = at.data().toString().toStdString();
      const QFontMetrics metrics(levers.font());
      const QRect room(0, 0, levers.columnWidth(column), levers.rowHeight(row));
      const QRect needed = metrics.boundingRect(room, Qt::TextWordWrap, at.data().toString());
      EXPECT_LE(needed.width(), room.width()) << text;
      EXPECT_LE(needed.height(), room.height()) << text;
      levers.scrollTo(at);
      EXPECT_TRUE(levers.viewport()->rect().contains(levers.visualRect(at))) << text;
    }
}

TEST_F(DesignedWindow, TheRailShowsATitleAndAnIconForEachPage) {
  window->resize(1280, 720);
  ASSERT_TRUE(quiet());
  EXPECT_FALSE(rail().compact());
  for (int i = 0; i < rail().count(); ++i) {
    const QString title = QString(rail().tabText(i)).remove('&');
    EXPECT_TRUE(has_icon(title)) << title.toStdString();
    EXPECT_TRUE(QSvgRenderer(page_svg(title, Qt::black)).isValid()) << title.toStdString();
    if (!rail().isTabVisible(i)) continue;
    EXPECT_GE(rail().tabRect(i).width(), rail().fontMetrics().horizontalAdvance(title)) << title.toStdString();
    EXPECT_LE(rail().tabRect(i).bottom(), rail().height()) << "without scrolling";
    EXPECT_EQ(rail().tabToolTip(i), "");
  }
  window->resize(1000, 720);
  ASSERT_TRUE(quiet());
  EXPECT_TRUE(rail().compact()) << "a narrow window shows icons only";
  EXPECT_EQ(rail().tabToolTip(1), "Scaling");
  EXPECT_LT(rail().width(), 60);
  window->resize(1280, 720);
  ASSERT_TRUE(quiet());
  EXPECT_GT(rail().width(), 80);
}

TEST_F(DesignedWindow, KeysGoThroughTheRail) {
  rail().setFocus();
  rail().setCurrentIndex(0);
  QTest::keyClick(&rail(), Qt::Key_Down);
  EXPECT_EQ(rail().currentIndex(), 1);
  QTest::keyClick(&rail(), Qt::Key_Up);
  EXPECT_EQ(rail().currentIndex(), 0);
}

// A page with long texts on a small screen scrolls: texts do not cover plots, and plots keep their least height.
TEST_F(DesignedWindow, LongTextsDoNotCoverPlots) {
  window->resize(952, 504);
  int plots = 0;
  for (int page = 0; page < tabs().count(); ++page) {
    if (!tabs().isTabVisible(page)) continue;
    tabs().setCurrentIndex(page);
    ASSERT_TRUE(quiet());
    const std::string where = tabs().tabText(page).toStdString();
    const QWidget* shown = tabs().currentWidget();
    for (auto* label : shown->findChildren<QLabel*>())
      if (label->isVisible() && label->wordWrap() && !label->objectName().isEmpty())
        label->setText(QStringLiteral("A long text that needs several lines on a small screen. ").repeated(8));
    QTest::qWait(50);
    for (const auto* plot : shown->findChildren<Plot*>()) {
      if (!plot->isVisible()) continue;
      ++plots;
      EXPECT_GE(plot->height(), plot->minimumHeight()) << where;
      for (const auto* label : plot->parentWidget()->findChildren<QLabel*>(QString(), Qt::FindDirectChildrenOnly))
        if (label->isVisible()) {
          EXPECT_FALSE(label->geometry().intersects(plot->geometry())) << where;
        }
    }
  }
  EXPECT_GE(plots, 5) << "too few plots: the test compares nothing";
}

// The whole answer at once, and no part of the page is unused.
TEST_F(DesignedWindow, OverviewFillsASmallScreenWithoutScrolling) {
  const OverviewFile file(OverviewFile::host_bound());
  open(file.path);
  window->resize(1280, 720);
  window->show_page("Overview");
  ASSERT_TRUE(quiet());
  const QScrollArea* area = nullptr;
  for (const auto* one : tabs().currentWidget()->findChildren<QScrollArea*>())
    if (one->isVisible()) area = one;
  ASSERT_NE(area, nullptr);
  EXPECT_EQ(area->verticalScrollBar()->maximum(), 0);
  int lowest = 0;
  for (const auto* frame : area->widget()->findChildren<QFrame*>())
    if (frame->isVisible() && frame->frameShape() == QFrame::StyledPanel)
      lowest = std::max(lowest, frame->mapTo(area->viewport(), QPoint(0, frame->height())).y());
  EXPECT_NEAR(lowest, area->viewport()->height() - grid_px, 1) << "the cards end at the margin";
}

TEST(Design, DigitsHaveOneWidth) {
  const QFont body = body_font(QApplication::font());
  EXPECT_EQ(body.pixelSize(), body_px);
  EXPECT_TRUE(has_tabular_digits(body)) << body.family().toStdString();
  EXPECT_TRUE(has_tabular_digits(sized(body, figure_px)));
}

}  // namespace
}  // namespace ddpprof::gui
