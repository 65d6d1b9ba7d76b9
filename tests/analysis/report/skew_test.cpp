// The report skew: last arrivals, named stragglers, and last starts by the clocks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "analysis/report/answer/slow_ranks.hpp"
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
        const std::int64_t step = run_.step(shard, i, 100 * ms * i, 100 * ms, 60 * ms + late_ns,
                                            20 * ms + (1 - rank) * late_ms * ms, 10 * ms, (1 - rank) * late_ms * ms);
        run_.collective(shard, step, i, 0, 1 << 20, 100 * ms * i + 50 * ms, 100 * ms * i + 50 * ms + late_ns,
                        100 * ms * i + 70 * ms + late_ms * ms, 20 * ms);
      }
    }
    load.commit();
  }

  // Two ranks of 40 steps with an all-reduce each, which they begin 15 ms late in turn; rank 1 computes 6 to 8 ms longer.
  void late_in_turn() {
    store::BulkLoad load(run_.database);
    const std::int64_t id = run_.measurement(test::train("ddp", 2));
    for (std::int64_t rank = 0; rank < 2; ++rank) {
      const std::int64_t shard = run_.shard(id, rank);
      for (std::int64_t i = 0; i < 40; ++i) {
        const std::int64_t late_ns = (i + rank) % 2 * 15 * ms, wait_ns = 15 * ms - late_ns, start_ns = 100 * ms * i;
        const std::int64_t step =
            run_.step(shard, i, start_ns, 100 * ms, (50 + rank * (6 + i * 5 % 7 % 3)) * ms, 20 * ms + wait_ns, 10 * ms, wait_ns);
        run_.collective(shard, step, i, 0, 1 << 20, start_ns, start_ns + 50 * ms + late_ns, start_ns + 85 * ms, 20 * ms);
      }
    }
    load.commit();
  }

  static constexpr std::int64_t us = 1'000;

  struct Begin {
    std::int64_t at_us, uncertainty_us;
    std::string boot_id = {};
    std::int64_t offset_us = 0;  // of the clock; `at_us` is on rank 0's
  };
  // A step of 10 ms with one all-reduce, which each rank starts at the given time.
  void begins(const std::vector<Begin>& ranks) {
    store::BulkLoad load(run_.database);
    const std::int64_t id = run_.measurement(test::train("ddp", static_cast<std::int64_t>(ranks.size())));
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      store::ShardRow row;
      row.measurement_id = id;
      row.rank = static_cast<std::int64_t>(rank);
      row.host = "node";
      row.boot_id = ranks[rank].boot_id;
      row.closed = 1;
      row.clock_reference = "exchange";
      row.clock_offset_ns = ranks[rank].offset_us * us;
      row.clock_uncertainty_ns = ranks[rank].uncertainty_us * us;
      const std::int64_t shard = store::Inserter<store::ShardRow>(run_.database).insert(row);
      const std::int64_t zero_ns = -ranks[rank].offset_us * us, start_ns = zero_ns + ranks[rank].at_us * us;
      const std::int64_t step = run_.step(shard, 0, zero_ns, 100 * ms, 1 * ms, 1 * ms, 0, 0);
      run_.collective(shard, step, 0, 0, 1 << 20, start_ns, start_ns, zero_ns + 50 * ms, 1 * ms);
    }
    load.commit();
  }

  // Eight steps of two ranks, equal except that rank 1 computes 10 ms longer.
  void steps_from(std::int64_t first_of_rank_1) {
    store::BulkLoad load(run_.database);
    const std::int64_t id = run_.measurement(test::train("ddp", 2));
    for (std::int64_t rank = 0; rank < 2; ++rank) {
      const std::int64_t shard = run_.shard(id, rank), first = rank * first_of_rank_1;
      for (std::int64_t i = first; i < first + 8; ++i)
        run_.step(shard, i, 100 * ms * i, 100 * ms, (60 + 10 * rank) * ms, 20 * ms, 0, 0);
    }
    load.commit();
  }

  // Ranks with these waits in each of four all-reduces.
  void waits(const std::vector<std::int64_t>& of_rank_ms) {
    store::BulkLoad load(run_.database);
    const std::int64_t id = run_.measurement(test::train("ddp", static_cast<std::int64_t>(of_rank_ms.size())));
    for (std::size_t rank = 0; rank < of_rank_ms.size(); ++rank) {
      const std::int64_t shard = run_.shard(id, static_cast<std::int64_t>(rank)), wait_ns = of_rank_ms[rank] * ms;
      for (std::int64_t i = 0; i < 4; ++i) {
        const std::int64_t end_ns = 100 * ms * i + 70 * ms;
        const std::int64_t step = run_.step(shard, i, 100 * ms * i, 100 * ms, 60 * ms, 20 * ms, 0, wait_ns);
        run_.collective(shard, step, i, 0, 1 << 20, 100 * ms * i, end_ns - 20 * ms - wait_ns, end_ns, 20 * ms);
      }
    }
    load.commit();
  }

  std::filesystem::path path_;
  test::SyntheticRun run_;
};

// A at 100 us, B at 95, C at 90: C may have been ms later than both.
TEST_F(Skew, OneThatMayBeLaterThanTheLastMakesItUnknownWhicheverPlaceItHas) {
  begins({{100, 0}, {95, 0, {}, 7}, {90, 5'000}});
  const Table last = table("last_starters");
  EXPECT_EQ(cell(last, last.rows[0], "last_rank"), Cell("not known"));
  EXPECT_EQ(cell(last, last.rows[0], "known"), Cell(std::int64_t{0}));
  EXPECT_EQ(cell(last, last.rows[0], "uncertainty_s"), Cell(5'000e-6));
}

TEST_F(Skew, OneThatIsEarlierByMoreThanItsUncertaintyLeavesTheLastKnown) {
  begins({{10'000, 0}, {9'995, 0, {}, 7}, {90, 5'000}});
  const Table last = table("last_starters");
  EXPECT_EQ(cell(last, last.rows[0], "last_rank"), Cell("0"));
  EXPECT_EQ(cell(last, last.rows[0], "known"), Cell(std::int64_t{1}));
}

// Ranks 1 and 2 are on one host: rank 2 certainly started 50 us later, although neither offset is known to 1 ms and the
// measured offsets give the opposite order.
TEST_F(Skew, BetweenRanksOfOneClockThereIsNoDoubt) {
  begins({{0, 0, "a"}, {20'100, 1'000, "b", 160}, {20'050, 1'000, "b", 60}});
  const Table last = table("last_starters");
  EXPECT_EQ(cell(last, last.rows[0], "last_rank"), Cell("2"));
  EXPECT_EQ(cell(last, last.rows[0], "known"), Cell(std::int64_t{1}));
}

// Like an import: no boot id, one offset for all ranks of a clock.
TEST_F(Skew, OneOffsetIsOneClock) {
  begins({{0, 0}, {20'000, 1'000, {}, 60}, {20'050, 1'000, {}, 60}});
  EXPECT_EQ(cell(table("last_starters"), table("last_starters").rows[0], "last_rank"), Cell("2"));
}

// Rank 0 has steps 0 to 7, rank 1 steps 6 to 13: only 6 and 7 compare them.
TEST_F(Skew, StepsThatOneRankAloneRecordedCompareNobody) {
  steps_from(6);
  const Table ranks = table("skew");
  ASSERT_EQ(ranks.rows.size(), 2U);
  EXPECT_EQ(cell(ranks, ranks.rows[0], "slowest_share"), Cell(0.0));
  EXPECT_EQ(cell(ranks, ranks.rows[1], "slowest_share"), Cell(1.0));
}

TEST_F(Skew, WithoutACommonStepEachRankHasItsOwnAndNothingIsCompared) {
  steps_from(8);
  const Table ranks = table("skew");
  ASSERT_EQ(ranks.rows.size(), 2U);
  for (const Row& row : ranks.rows) {
    EXPECT_EQ(cell(ranks, row, "step_median_s"), Cell(0.1));
    EXPECT_EQ(cell(ranks, row, "compute_against_mean"), Cell());
    EXPECT_EQ(cell(ranks, row, "slowest_share"), Cell());
  }
}

TEST_F(Skew, WhereNobodyWaitedNobodyCameLast) {
  waits({0, 0, 0});
  const Table ranks = table("skew");
  for (const Row& row : ranks.rows) {
    EXPECT_EQ(cell(ranks, row, "last_share"), Cell());
    EXPECT_EQ(cell(ranks, row, "kept_waiting_s"), Cell());
  }
}

TEST_F(Skew, OfTwoThatWaitedLeastNeitherIsTheLast) {
  waits({0, 0, 5});
  EXPECT_EQ(cell(table("skew"), table("skew").rows[0], "last_share"), Cell());
  EXPECT_TRUE(table("stragglers").rows.empty());
}

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
              testing::StartsWith("Rank 1 (node) makes the other ranks wait"));
  const Table last = table("last_starters");
  ASSERT_EQ(last.rows.size(), 1U);
  EXPECT_EQ(cell(last, last.rows[0], "last_rank"), Cell("1"));
  EXPECT_EQ(cell(last, last.rows[0], "last_share"), Cell(1.0));
  EXPECT_EQ(cell(last, last.rows[0], "later_s"), Cell(0.015));
  EXPECT_EQ(cell(last, last.rows[0], "collectives"), Cell(std::int64_t{20}));
  EXPECT_EQ(cell(last, last.rows[0], "known"), Cell(std::int64_t{20}));
  EXPECT_EQ(cell(last, last.rows[0], "why"), Cell(""));
}

TEST_F(Skew, TheAnswerNamesTheRankThatCostsTheOthersMost) {
  late_rank(15);
  const Report summary = build_report(run_.database, "summary");
  EXPECT_TRUE(std::ranges::any_of(summary.tables, [](const Table& one) { return one.name == "stragglers"; }));
  std::string answer;
  for (const Row& row : summary.tables.at(0).rows)
    if (row.at(0) == Cell("ddp slow rank")) answer = std::get<std::string>(row.at(1));
  const std::string found =
      "At N = 2 rank 1 arrives last in 100 % of the collectives; the other ranks then wait 15.0 % of the step";
  EXPECT_EQ(answer, found + " (--report skew).");
  // The parts of the step have less waiting than the rank costs.
  const Source source{run_.database.sql(), metrics::read_configurations(run_.database.sql())};
  GlanceStep step;
  step.strategy = "ddp";
  step.workers = 2;
  step.skew = 0.0;
  EXPECT_THAT(slow_rank_sentence(source, step), testing::HasSubstr("partly counted as exposed transfer"));
  step.skew = 0.15;
  EXPECT_EQ(slow_rank_sentence(source, step), answer);
  step.workers = 4;
  EXPECT_EQ(slow_rank_sentence(source, step), "");
}

TEST_F(Skew, TheAnswerNamesNoRankForWhichTheOthersDoNotWait) {
  late_in_turn();
  const Table stragglers = table("stragglers");
  ASSERT_EQ(stragglers.rows.size(), 1U);  // rank 1 computes longer
  EXPECT_GT(std::get<double>(cell(stragglers, stragglers.rows[0], "lost_share")), 0.1);
  const Report summary = build_report(run_.database, "summary");
  for (const Row& row : summary.tables.at(0).rows) EXPECT_NE(row.at(0), Cell("ddp slow rank"));
}

TEST_F(Skew, WhereNobodyIsNamedItSaysWhy) {
  late_rank(0);
  const Table stragglers = table("stragglers");
  EXPECT_TRUE(stragglers.rows.empty());
  EXPECT_THAT(stragglers.empty, testing::StartsWith("ddp N=2: "));
  const Table last = table("last_starters");
  ASSERT_EQ(last.rows.size(), 1U);
  EXPECT_EQ(cell(last, last.rows[0], "last_rank"), Cell("not known"));
  EXPECT_EQ(cell(last, last.rows[0], "why"),
            Cell("in 20 collectives the last start and another start are within the uncertainty of the two clocks"));
}

TEST_F(Skew, WithoutStepsItSaysHowStepsAreMarkedWhateverWasImported) {
  EXPECT_THAT(table("skew").empty, testing::AllOf(testing::HasSubstr("ddpprof run"), testing::HasSubstr("prof.step()"),
                                                  testing::HasSubstr("NVTX")));
  EXPECT_THAT(table("stragglers").empty, testing::HasSubstr("Import a trace of each rank"));
  EXPECT_THAT(table("last_starters").empty, testing::HasSubstr("import the traces of all ranks"));
}

// From the head of synthetic_run.hpp: steps of both ranks start together, then rank 0 starts 10, 5 and 5 ms later. Rank
// 1's clock is 5 µs behind rank 0's, ± 20 µs.
TEST_F(Skew, StartsAreComparedOnRankZerosClockWhereItIsGoodEnough) {
  run_.fill();
  const Table last = table("last_starters");
  ASSERT_EQ(last.rows.size(), 2U) << "two buckets of the only configuration with collectives";
  for (const Row& row : last.rows) {
    EXPECT_EQ(cell(last, row, "collectives"), Cell(std::int64_t{4}));
    EXPECT_EQ(cell(last, row, "known"), Cell(std::int64_t{3}));
    EXPECT_EQ(cell(last, row, "last_rank"), Cell("0"));
    EXPECT_NEAR(std::get<double>(cell(last, row, "later_s")), 0.004995, 1e-12);
    EXPECT_NEAR(std::get<double>(cell(last, row, "uncertainty_s")), 20e-6, 1e-15);
    EXPECT_EQ(cell(last, row, "why"),
              Cell("in 1 collective the last start and another start are within the uncertainty of the two clocks"));
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
  EXPECT_EQ(cell(last, last.rows[0], "why"), Cell("the offset to rank 0's clock is unknown for rank 1"));
  const Table ranks = table("skew");
  EXPECT_EQ(cell(ranks, ranks.rows[1], "last_share"), Cell(1.0))
      << "the rank that waits least arrived last; no clock is used";
}

}  // namespace
}  // namespace ddpprof::report
