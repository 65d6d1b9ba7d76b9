// The bar of warnings and its details.
#include "gui/widgets/diagnostics_bar.hpp"

#include <gtest/gtest.h>

#include <QHeaderView>
#include <QScrollBar>
#include <QTest>
#include <QToolButton>

#include "analysis/report/core/columns.hpp"
#include "gui/widgets/table_view.hpp"

namespace ddpprof::gui {
namespace {

report::Table notices(const std::string& message, std::int64_t ranks = 0) {
  report::Table table;
  table.columns = {report::text("severity", "severity"), report::text("about", "about"), report::text("code", "code"),
                   report::text("ranks", "ranks"),       report::count("count", "count"), report::prose("message", "what"),
                   report::prose("advice", "what to do")};
  const std::string advice = message + " " + message;
  std::string listed;
  for (std::int64_t rank = 0; rank < ranks; ++rank) listed += (rank > 0 ? ", " : "") + std::to_string(rank);
  for (const char* code : {"links_not_measured", "noisy_median"})
    table.rows.push_back({std::string("warning"), std::string("ddp N=4"), std::string(code),
                          listed.empty() ? report::Cell() : report::Cell(listed), std::int64_t{1}, message, advice});
  return table;
}

const std::string long_message =
    "The interval of the median step is wide, because other programs used the processor while this was measured.";

class Details : public testing::Test {
 protected:
  void open(int width) {
    bar.resize(width, 300);
    bar.show();
    bar.findChild<QToolButton*>()->setChecked(true);
    QTest::qWait(20);
  }
  TableView& table() { return *bar.findChild<TableView*>(); }

  DiagnosticsBar bar;
};

TEST_F(Details, LastColumnIsReachedAndNoTextIsCutOff) {
  bar.show_notices(notices(long_message), {});
  for (const int width : {952, 1272, 1912}) {
    open(width);
    const QHeaderView& header = *table().horizontalHeader();
    const int last = header.count() - 1;
    const int right = header.sectionPosition(last) + header.sectionSize(last);
    const int reached = table().viewport()->width() + table().horizontalScrollBar()->maximum();
    EXPECT_LE(right, reached) << width;
    EXPECT_GE(header.sectionSize(last), 200) << width;
    if (width >= 952) {
      EXPECT_EQ(table().horizontalScrollBar()->maximum(), 0) << width;
    }
    for (int row = 0; row < table().model()->rowCount(); ++row)
      EXPECT_GE(table().rowHeight(row), static_cast<QAbstractItemView&>(table()).sizeHintForRow(row))
          << width << ", row " << row;
  }
}

// A warning about each of 64 ranks: the list of ranks is wrapped instead of taking the width of the advice.
TEST_F(Details, AListOfManyRanksLeavesRoomForTheAdvice) {
  bar.show_notices(notices(long_message, 64), {});
  open(1272);
  const QHeaderView& header = *table().horizontalHeader();
  const int last = header.count() - 1;
  EXPECT_LE(header.sectionPosition(last) + header.sectionSize(last), table().viewport()->width());
  EXPECT_GE(header.sectionSize(last), 200);
  EXPECT_EQ(table().horizontalScrollBar()->maximum(), 0);
}

TEST_F(Details, OtherNoticesOfTheFileKeepErrorsAndDetails) {
  bar.show_notices(notices("first"), "no model");
  bar.show_error("other.db cannot be opened");
  open(1272);
  bar.update_notices(notices("second"));
  for (const char* text : {"other.db cannot be opened", "no model", "second"})
    EXPECT_TRUE(bar.text().contains(text)) << bar.text().toStdString();
  EXPECT_FALSE(bar.text().contains("first"));
  EXPECT_TRUE(table().isVisible());
  bar.update_notices({});
  EXPECT_FALSE(table().isVisible()) << "there is nothing to show";
}

}  // namespace
}  // namespace ddpprof::gui
