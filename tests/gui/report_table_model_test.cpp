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

TEST(ReportTableModel, SpeedupsOutsideOfTheirIntervalAreBetterOrWorse) {
  report::Table table;
  table.name = "what_helps";
  for (const char* name : {"speedup", "speedup_low", "speedup_high"}) {
    report::Column column;
    column.name = column.title = name;
    column.kind = report::Kind::real;
    table.columns.push_back(column);
  }
  table.rows = {{2.0, 1.5, 2.5}, {0.5, 0.4, 0.9},     {1.2, 0.9, 1.4},    {8.0, 7.0, 9.0},
                {{}, {}, {}},    {1.004, 1.001, 1.9}, {1.03, 1.004, 1.1}, {1.03, 1.006, 1.1}};
  ReportTableModel model;
  model.set_table(table);
  const auto better = [&](int row) { return model.index(row, 0).data(ReportTableModel::better_role); };
  EXPECT_DOUBLE_EQ(better(0).toDouble(), 1.0);
  EXPECT_DOUBLE_EQ(better(1).toDouble(), -1.0);
  EXPECT_FALSE(better(2).isValid()) << "the interval includes no change";
  EXPECT_DOUBLE_EQ(better(3).toDouble(), 1.0) << "at most";
  EXPECT_FALSE(better(4).isValid());
  EXPECT_FALSE(better(5).isValid()) << "it is shown as 1.00";
  EXPECT_FALSE(better(6).isValid()) << "the interval is shown from 1.00 on";
  EXPECT_TRUE(better(7).isValid());
  EXPECT_FALSE(model.index(0, 1).data(ReportTableModel::better_role).isValid()) << "an end of the interval";
  for (report::Column& column : table.columns) column.name.replace(0, 7, "ratio");
  table.name = "compare_time";
  model.set_table(table);
  EXPECT_DOUBLE_EQ(better(0).toDouble(), -1.0) << "twice the time";
  table.name = "compare_parameters";
  model.set_table(table);
  EXPECT_FALSE(better(0).isValid()) << "a parameter is not better or worse";
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
