// The report skew: who comes last, who is named for it, and what the clocks tell of who began last.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "analysis/report/report.hpp"
#include "tests/analysis/report/synthetic_run.hpp"

namespace ddpprof::report {
namespace {

using test::ms;

class Skew : public testing::Test {
 protected:
  Skew()
      : path_(std::filesystem::temp_directory_path() /
              ("skew-" + std::to_string(::getpid()) + "-" +
               std::string(testing::UnitTest::GetInstance()->current_test_info()->name()) + ".db")),
        run_(path_) {}
  ~Skew() override { std::filesystem::remove(path_); }

  Table table(const std::string& name) {
    for (Table& table : build_report(run_.database, "skew").tables)
      if (table.name == name) return table;
    throw std::out_of_range(name);
  }
  static Cell cell(const Table& table, const Row& row, const std::string& column) {
    for (std::size_t i = 0; i < table.columns.size(); ++i)
      if (table.columns[i].name == column) return row[i];
    throw std::out_of_range(column);
  }

  // Two ranks of 20 steps with an all-reduce each, which rank 1 begins `late_ms` later; both end together.
  void late_rank(std::int64_t late_ms) {
    store::BulkLoad load(run_.database);
    const std::int64_t id = run_.measurement(test::train("ddp", 2));
    for (std::int64_t rank = 0; rank < 2; ++rank) {
      const std::int64_t shard = run_.shard(id, rank);
      const std::int64_t late_ns = rank * late_ms * ms;
      for (std::int64_t i = 0; i < 20; ++i) {
        const std::int64_t step =
            run_.step(shard, i, 100 * ms * i, 100 * ms, 60 * ms + late_ns, 20 * ms, 10 * ms, (1 - rank) * late_ms * ms);
        run_.collective(shard, step, i, 0, 1 << 20, 100 * ms * i + 50 * ms, 100 * ms * i + 50 * ms + late_ns,
                        100 * ms * i + 70 * ms + late_ms * ms, 20 * ms);
      }
    }
    load.commit();
  }

  std::filesystem::path path_;
  test::SyntheticRun run_;
};

TEST_F(Skew, ALateRankIsNamedWithHowLongItKeepsTheOthersWaiting) {
  late_rank(15);
  const Table ranks = table("skew");
  ASSERT_EQ(ranks.rows.size(), 2U);
  EXPECT_EQ(cell(ranks, ranks.rows[1], "rank"), Cell(std::int64_t{1}));
  EXPECT_EQ(cell(ranks, ranks.rows[1], "host"), Cell("node"));
  EXPECT_EQ(cell(ranks, ranks.rows[1], "last_share"), Cell(1.0));
  EXPECT_EQ(cell(ranks, ranks.rows[1], "kept_waiting_s"), Cell(0.015));
  EXPECT_EQ(cell(ranks, ranks.rows[0], "last_share"), Cell(0.0));
  EXPECT_EQ(cell(ranks, ranks.rows[0], "kept_waiting_s"), Cell());
  const Table stragglers = table("stragglers");
  ASSERT_EQ(stragglers.rows.size(), 1U);
  EXPECT_EQ(cell(stragglers, stragglers.rows[0], "rank"), Cell(std::int64_t{1}));
  EXPECT_EQ(cell(stragglers, stragglers.rows[0], "workers"), Cell(std::int64_t{2}));
  EXPECT_THAT(std::get<std::string>(cell(stragglers, stragglers.rows[0], "evidence")),
              testing::StartsWith("Rank 1 (node) makes the others wait"));
  const Table last = table("last_starters");
  ASSERT_EQ(last.rows.size(), 1U);
  EXPECT_EQ(cell(last, last.rows[0], "last_rank"), Cell("1"));
  EXPECT_EQ(cell(last, last.rows[0], "last_share"), Cell(1.0));
  EXPECT_EQ(cell(last, last.rows[0], "later_s"), Cell(0.015));
  EXPECT_EQ(cell(last, last.rows[0], "collectives"), Cell(std::int64_t{20}));
  EXPECT_EQ(cell(last, last.rows[0], "known"), Cell(std::int64_t{20}));
  EXPECT_EQ(cell(last, last.rows[0], "why"), Cell(""));
}

TEST_F(Skew, WhereNobodyIsNamedItSaysWhy) {
  late_rank(0);
  const Table stragglers = table("stragglers");
  EXPECT_TRUE(stragglers.rows.empty());
  EXPECT_THAT(stragglers.empty, testing::StartsWith("ddp N=2: "));
  const Table last = table("last_starters");
  ASSERT_EQ(last.rows.size(), 1U);
  EXPECT_EQ(cell(last, last.rows[0], "last_rank"), Cell("not known"));
  EXPECT_EQ(cell(last, last.rows[0], "why"), Cell("of 20 the last two began within the clocks' uncertainty"));
}

TEST_F(Skew, WithoutStepsItSaysHowStepsAreMarkedWhateverWasImported) {
  EXPECT_THAT(table("skew").empty, testing::AllOf(testing::HasSubstr("ddpprof run"), testing::HasSubstr("prof.step()"),
                                                  testing::HasSubstr("NVTX")));
  EXPECT_THAT(table("stragglers").empty, testing::HasSubstr("import a trace of each rank"));
  EXPECT_THAT(table("last_starters").empty, testing::HasSubstr("those of all ranks"));
}

// As the head of synthetic_run.hpp has it: steps of both ranks begin together, then rank 0's 10, 5 and 5 ms later; rank
// 1's clock is 5 µs behind rank 0's, to 20 µs.
TEST_F(Skew, StartsAreComparedOnRankZerosClockWhereItIsGoodEnough) {
  run_.fill();
  const Table last = table("last_starters");
  ASSERT_EQ(last.rows.size(), 2U) << "two buckets of the one configuration with collectives";
  for (const Row& row : last.rows) {
    EXPECT_EQ(cell(last, row, "collectives"), Cell(std::int64_t{4}));
    EXPECT_EQ(cell(last, row, "known"), Cell(std::int64_t{3}));
    EXPECT_EQ(cell(last, row, "last_rank"), Cell("0"));
    EXPECT_NEAR(std::get<double>(cell(last, row, "later_s")), 0.004995, 1e-12);
    EXPECT_NEAR(std::get<double>(cell(last, row, "uncertainty_s")), 20e-6, 1e-15);
    EXPECT_EQ(cell(last, row, "why"), Cell("of 1 the last two began within the clocks' uncertainty"));
  }
}

TEST_F(Skew, OfAnUnknownClockTheLastIsNotKnownWhoeverItSeems) {
  late_rank(15);
  run_.database.sql().exec("UPDATE shard SET clock_reference = 'unknown', clock_uncertainty_ns = NULL WHERE rank = 1");
  const Table last = table("last_starters");
  ASSERT_EQ(last.rows.size(), 1U);
  EXPECT_EQ(cell(last, last.rows[0], "last_rank"), Cell("not known"));
  EXPECT_EQ(cell(last, last.rows[0], "known"), Cell(std::int64_t{0}));
  EXPECT_EQ(cell(last, last.rows[0], "later_s"), Cell());
  EXPECT_EQ(cell(last, last.rows[0], "why"), Cell("how this clock relates to rank 0's is not known: of rank 1"));
  const Table ranks = table("skew");
  EXPECT_EQ(cell(ranks, ranks.rows[1], "last_share"), Cell(1.0)) << "who waits least came last, without any clock";
}

}  // namespace
}  // namespace ddpprof::report
