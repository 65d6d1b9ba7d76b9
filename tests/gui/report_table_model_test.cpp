#include "gui/models/report_table_model.hpp"

#include <gtest/gtest.h>

#include <QAbstractItemModelTester>

namespace ddpprof::gui {
namespace {

report::Table steps() {
  report::Table table;
  table.name = "step";
  table.title = "Steps";
  report::Column strategy, workers, step, same;
  strategy.name = strategy.title = "strategy";
  workers.name = "workers";
  workers.title = "N";
  workers.unit = "workers";
  workers.kind = report::Kind::integer;
  step.name = "step_s";
  step.title = "step";
  step.unit = "s";
  step.kind = report::Kind::real;
  same.name = same.title = "backend";
  same.hide_constant = true;
  table.columns = {strategy, workers, step, same};
  table.rows = {{"ddp", std::int64_t{2}, 0.0123, "gloo"},
                {"ddp", std::int64_t{16}, 0.0456, "gloo"},
                {"dp", std::int64_t{2}, {}, "gloo"}};
  return table;
}

TEST(ReportTableModel, ShowsWhatTheReportPrints) {
  ReportTableModel model;
  const QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::Fatal);
  model.set_table(steps());
  ASSERT_EQ(model.rowCount(), 3);
  ASSERT_EQ(model.columnCount(), 3) << "a constant column is left out, as in the report";
  EXPECT_EQ(model.headerData(1, Qt::Horizontal).toString(), "N");
  EXPECT_EQ(model.headerData(2, Qt::Horizontal).toString(), "step [ms]");
  EXPECT_EQ(model.index(0, 2).data().toString(), "12.3");
  EXPECT_EQ(model.index(2, 2).data().toString(), "–") << "not known";
}

TEST(ReportTableModel, SortsByValuesInBaseUnits) {
  ReportTableModel model;
  model.set_table(steps());
  EXPECT_EQ(model.index(1, 1).data(ReportTableModel::value_role).toLongLong(), 16);
  EXPECT_DOUBLE_EQ(model.index(1, 2).data(ReportTableModel::value_role).toDouble(), 0.0456);
  EXPECT_FALSE(model.index(2, 2).data(ReportTableModel::value_role).isValid());
}

TEST(ReportTableModel, AReplacedTableResetsItsViews) {
  ReportTableModel model;
  const QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::Fatal);
  model.set_table(steps());
  report::Table less = steps();
  less.rows.resize(1);
  model.set_table(less);
  EXPECT_EQ(model.rowCount(), 1);
  model.set_table({});
  EXPECT_EQ(model.rowCount(), 0);
  EXPECT_EQ(model.columnCount(), 0);
}

TEST(ReportTableModel, CopiesAreTheReportsOwnFormats) {
  EXPECT_EQ(as_csv(steps()).section("\n", 0, 1).remove('\r'),
            "table,strategy,workers,step_s,backend\nstep,ddp,2,0.0123,gloo");
  EXPECT_TRUE(as_markdown(steps()).contains("| ddp"));
}

}  // namespace
}  // namespace ddpprof::gui
