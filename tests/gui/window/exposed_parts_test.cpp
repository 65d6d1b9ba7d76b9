// Exposed communication and waiting of one recording are the same on the pages DP and DDP and Ranks as in the reports.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QSignalSpy>
#include <QTest>
#include <algorithm>

#include "gui/models/jobs.hpp"
#include "gui/pages/ranks/ranks_page.hpp"
#include "gui/pages/strategies/strategies_page.hpp"
#include "gui/widgets/table_view.hpp"
#include "gui/window/main_window.hpp"
#include "tests/gui/window/files.hpp"

namespace ddpprof::gui {
namespace {

using ddpprof::test::ms;

// Steps of 50 ms. Rank 1 is late by 5 ms and 10 ms for two buckets that take 3 ms each. Compute hides all of the first
// collective and none of the second: rank 0 has 13 ms of exposed communication, of which 10 ms are waiting, and rank 1
// has 3 ms. Means of both ranks: 8 ms, of which 5 ms are waiting.
void write_late_rank(const std::filesystem::path& path) {
  ddpprof::test::SyntheticRun run(path);
  const std::int64_t id = run.measurement(ddpprof::test::train("ddp", 2));
  for (std::int64_t rank = 0; rank < 2; ++rank) {
    const std::int64_t shard = run.shard(id, rank), early = rank == 0 ? 5 * ms : 0;
    for (std::int64_t step = 0; step < 12; ++step) {
      const std::int64_t begin = 7 * ms + step * 50 * ms;
      const std::int64_t row = rank == 0 ? run.step(shard, step, begin, 50 * ms, 30 * ms, 21 * ms, 8 * ms, 15 * ms)
                                         : run.step(shard, step, begin, 50 * ms, 30 * ms, 6 * ms, 3 * ms, 0);
      store::Inserter<store::GradReadyRow>(run.database).insert({row, 0, 30 * ms});
      run.collective(shard, row, 2 * step, 0, 1 << 20, begin + 26 * ms - early, begin + 26 * ms - early,
                     begin + 29 * ms, 3 * ms);
      run.collective(shard, row, 2 * step + 1, 1, 1 << 20, begin + 40 * ms - 2 * early, begin + 40 * ms - 2 * early,
                     begin + 43 * ms, 3 * ms);
    }
  }
  run.database.finish_load();
}

class ExposedPartsOnPages : public testing::Test {
 protected:
  void SetUp() override {
    write_late_rank(folder / "late.db");
    window.show();
    const QSignalSpy opened(&window, &MainWindow::opened);
    window.open(QString::fromStdString((folder / "late.db").string()));
    ASSERT_TRUE(QTest::qWaitFor([&] { return !opened.isEmpty(); }, 60'000));
  }
  // The table as the page shows it.
  template <class PageType>
  report::Table shown(const std::string& name) {
    for (Page* one : window.pages()) {
      auto* found = dynamic_cast<PageType*>(one);
      if (found == nullptr) continue;
      window.show_page(found->title().remove('&'));
      report::Table table;
      const auto filled = [&] {
        for (const TableView* view : found->template findChildren<TableView*>())
          if (view->model_of_table().table().name == name) table = view->model_of_table().table();
        return !table.rows.empty() && Job::running_now() == 0;
      };
      EXPECT_TRUE(QTest::qWaitFor(filled, 60'000)) << name;
      return table;
    }
    throw std::out_of_range(name);
  }
  report::Table reported(const std::string& report, const std::string& name) {
    const report::Report all = read_report(folder / "late.db", report);
    for (const report::Table& one : all.tables)
      if (one.name == name) return one;
    throw std::out_of_range(name);
  }
  static double number(const report::Table& table, std::size_t row, std::string_view column) {
    return report::value_of<double>(table, table.rows.at(row), column).value();
  }

  const test::Folder folder;
  MainWindow window;
};

TEST_F(ExposedPartsOnPages, AreThoseOfTheReports) {
  constexpr double nearly = 1e-9;
  const report::Table phases = reported("phases", "time");
  const double exposed_s = number(phases, 0, "exposed_s"), waits_s = number(phases, 0, "exposed_wait_s");
  EXPECT_NEAR(exposed_s, 0.008, nearly);
  EXPECT_NEAR(waits_s, 0.005, nearly);

  const report::Table ranks = shown<RanksPage>("ranks"), skew = reported("skew", "skew");
  ASSERT_EQ(ranks.rows.size(), 2U);
  ASSERT_EQ(skew.rows.size(), 2U);
  EXPECT_NEAR((number(ranks, 0, "exposed_s") + number(ranks, 1, "exposed_s")) / 2.0, exposed_s, nearly);
  EXPECT_NEAR((number(ranks, 0, "exposed_wait_s") + number(ranks, 1, "exposed_wait_s")) / 2.0, waits_s, nearly);
  for (std::size_t rank = 0; rank < 2; ++rank)
    EXPECT_NEAR(number(ranks, rank, "skew_median_s"), number(skew, rank, "skew_median_s"), nearly) << rank;

  // On this page the two parts are separate, because the parts of a step add up.
  const report::Table times = shown<StrategiesPage>("strategy_times");
  ASSERT_EQ(times.rows.size(), 1U) << "no step of DataParallel was measured";
  EXPECT_EQ(report::value_of<std::string>(times, times.rows[0], "source"), "measured");
  EXPECT_NEAR(number(times, 0, "exposed_s") + number(times, 0, "skew_s"), exposed_s, nearly);
  EXPECT_NEAR(number(times, 0, "skew_s"), waits_s, nearly);
  const report::Table strategies = shown<StrategiesPage>("strategies");
  const auto row = std::ranges::find(strategies.rows, report::Cell(std::string("synchronisation")),
                                     [](const report::Row& one) { return one.front(); });
  ASSERT_NE(row, strategies.rows.end());
  EXPECT_THAT(report::value_of<std::string>(strategies, *row, "ddp_here").value_or(""),
              testing::HasSubstr("exposed: 8 ms (16.0 %), including waiting for slower ranks: 5 ms"));
}

}  // namespace
}  // namespace ddpprof::gui
