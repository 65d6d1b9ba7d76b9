// Ranks compared with each other: databases with round numbers, expectations calculated by hand.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <random>

#include "analysis/report/report.hpp"
#include "analysis/report/tables/ranks/rank_tables.hpp"
#include "tests/analysis/report/synthetic_run.hpp"

namespace ddpprof::report {
namespace {

using test::ms;
using test::SyntheticRun;

class Ranks : public testing::Test {
 protected:
  Ranks()
      : path_(std::filesystem::temp_directory_path() /
              ("ranks-" + std::to_string(::getpid()) + "-" +
               std::string(testing::UnitTest::GetInstance()->current_test_info()->name()) + ".db")),
        run_(path_) {}
  ~Ranks() override { std::filesystem::remove(path_); }

  // `ranks` ranks and `steps` steps of 100 ms with 60 ms of compute, of which rank `slow` has `longer_ms` more in every
  // step; one all-reduce a step of 20 ms, in which all others wait `longer_ms` for it.
  std::int64_t run(std::int64_t ranks, std::int64_t steps, std::int64_t slow, std::int64_t longer_ms) {
    const std::int64_t id = run_.measurement(test::train("ddp", ranks));
    std::vector<std::int64_t> shards;
    for (std::int64_t rank = 0; rank < ranks; ++rank) shards.push_back(run_.shard(id, rank));
    std::mt19937_64 random(7);
    for (std::int64_t step = 0; step < steps; ++step) {
      for (std::int64_t rank = 0; rank < ranks; ++rank) {
        // A few microseconds per rank, so that no two ranks are equal.
        const std::int64_t own = static_cast<std::int64_t>(random() % 5000);
        const std::int64_t wait = (rank == slow ? 0 : longer_ms * ms) + own;
        const std::int64_t compute = 60 * ms + (rank == slow ? longer_ms * ms : 0) + own;
        const std::int64_t begin = step * 100 * ms;
        const std::int64_t row = run_.step(shards[static_cast<std::size_t>(rank)], step, begin, 100 * ms, compute,
                                           20 * ms + wait, 10 * ms, wait);
        run_.collective(shards[static_cast<std::size_t>(rank)], row, step, 0, 1 << 20, begin + 50 * ms, begin + 50 * ms,
                        begin + 70 * ms + wait, 20 * ms);
      }
    }
    return id;
  }

  std::filesystem::path path_;
  SyntheticRun run_;
};

double real(const Table& table, std::size_t row, const std::string& column) {
  for (std::size_t i = 0; i < table.columns.size(); ++i)
    if (table.columns[i].name == column) return std::get<double>(table.rows[row][i]);
  throw std::out_of_range(column);
}

TEST_F(Ranks, HasTheNumbersOfTheSkewReport) {
  run_.fill();
  const metrics::RankTimes times = metrics::read_ranks(run_.database, 2);
  const Table mine = ranks_table(times);
  const Table report = build_report(run_.database, "skew").tables[0];
  std::size_t compared = 0;
  for (std::size_t row = 0; row < report.rows.size(); ++row) {
    const auto& cells = report.rows[row];
    if (cells[1] != Cell("ddp") || cells[2] != Cell(std::int64_t{2}) || cells[3] != Cell(std::int64_t{64})) continue;
    const auto rank = static_cast<std::size_t>(std::get<std::int64_t>(cells[4]));
    for (const char* column :
         {"step_median_s", "compute_median_s", "compute_against_mean", "skew_median_s", "slowest_share"})
      EXPECT_EQ(real(mine, rank, column), real(report, row, column)) << column << " of rank " << rank;
    ++compared;
  }
  EXPECT_EQ(compared, 2U);
  EXPECT_DOUBLE_EQ(real(mine, 0, "compute_median_s"), 0.09);
  // In every step 30 ms, 20 ms and 1 ms; the parts are the mean share of the steps × the median step.
  double inverse = 0.0;
  for (const metrics::RankStep& step : times.steps)
    if (step.rank == 0 && step.kind == "measured") inverse += 0.25 / step.step_s;
  const double median = real(mine, 0, "step_median_s");
  EXPECT_NEAR(real(mine, 0, "exposed_s"), 0.03 * inverse * median, 1e-12);
  EXPECT_NEAR(real(mine, 0, "overlapped_s"), 0.02 * inverse * median, 1e-12);
  EXPECT_NEAR(real(mine, 0, "input_s"), 0.001 * inverse * median, 1e-12);
}

// One of two ranks was imported: its waits for the other are part of the exposed time, which equals that of the
// predictions' table (mean share × median step).
TEST_F(Ranks, WaitsOfARankWhoseOthersAreMissingAreNotKnown) {
  const std::int64_t id = run_.measurement(test::train("ddp", 2));
  const std::int64_t shard = run_.shard(id, 0);
  const std::int64_t exposed_ms[] = {10, 10, 20};
  for (std::int64_t step = 0; step < 3; ++step)
    run_.step(shard, step, step * 200 * ms, 200 * ms, 60 * ms, exposed_ms[step] * ms, 0, 0);
  const metrics::RankTimes times = metrics::read_ranks(run_.database, id);
  EXPECT_FALSE(times.waits_known);
  const Table table = ranks_table(times);
  EXPECT_EQ(cell_of(table, table.rows[0], "skew_median_s"), Cell());
  EXPECT_NEAR(real(table, 0, "exposed_s"), 0.2 * (0.05 + 0.05 + 0.10) / 3.0, 1e-12);
  const Table steps = rank_steps_table(times);
  EXPECT_EQ(cell_of(steps, steps.rows[0], "skew_s"), Cell());
}

TEST_F(Ranks, OneStepCannotShowAStraggler) {
  const std::int64_t one = run(4, 1, 3, 1);
  const metrics::RankFindings findings = find_stragglers(metrics::read_ranks(run_.database, one));
  EXPECT_TRUE(findings.summary.starts_with("One step cannot show a straggler")) << findings.summary;
  EXPECT_NE(findings.summary.find("Rank 3 came last most often: in 1 of 1 collectives."), std::string::npos)
      << findings.summary;
  const std::int64_t more = run(4, 40, -1, 0);
  EXPECT_TRUE(find_stragglers(metrics::read_ranks(run_.database, more)).summary.starts_with("No straggler: "));
}

TEST_F(Ranks, PartsAddUpToTheStep) {
  run_.fill();
  const metrics::RankTimes times = metrics::read_ranks(run_.database, 2);
  ASSERT_EQ(times.steps.size(), 10U) << "4 measured and one without DDP, of two ranks";
  for (const metrics::RankStep& step : times.steps) {
    double sum = 0;
    for (const double part : step.parts()) sum += part;
    EXPECT_NEAR(sum, step.step_s, 1e-12);
  }
  // Rank 0's first: 120 ms, 90 compute of which 20 overlapped, 30 of 50 ms communication exposed, 4 of them waits, of
  // which the same share is exposed, nothing left of it.
  const auto parts = times.steps[0].parts();
  const double expected[] = {0.070, 0.020, 0.0276, 0.0024, 0.0, 0.0, 0.0};
  for (std::size_t i = 0; i < metrics::rank_part_count; ++i) EXPECT_NEAR(parts[i], expected[i], 1e-12) << i;
}

TEST_F(Ranks, ARangeKeepsTheStepsWhoseMiddleLiesInIt) {
  const std::int64_t id = run(2, 10, 1, 5);
  const metrics::RankTimes all = metrics::read_ranks(run_.database, id);
  const metrics::RankTimes some = within(all, 140 * ms, 440 * ms);  // middles at 50, 150, 250, 350, 450 ms …
  ASSERT_EQ(some.steps.size(), 6U);
  EXPECT_EQ(some.steps.front().step, 1);
  EXPECT_EQ(some.steps.back().step, 3);
  EXPECT_EQ(some.arrivals.size(), 3U);
  EXPECT_EQ(ranks_table(some).rows.size(), 2U);
  EXPECT_TRUE(within(all, 160 * ms, 200 * ms).steps.empty());
}

// Rank 1's machine has been running for a day longer, and its clock offset is unknown: its times do not give the
// position of a step.
TEST_F(Ranks, ARankOfUnknownClockIsInARangeWithTheOthersSteps) {
  const std::int64_t id = run(2, 10, 1, 5);
  const std::string its = " WHERE shard_id IN (SELECT id FROM shard WHERE rank = 1)";
  run_.database.sql().exec("UPDATE shard SET clock_reference = 'unknown', clock_uncertainty_ns = NULL WHERE rank = 1");
  run_.database.sql().exec("UPDATE step SET start_ns = start_ns + 86400000000000" + its);
  const metrics::RankTimes some = within(metrics::read_ranks(run_.database, id), 140 * ms, 440 * ms);
  ASSERT_EQ(some.steps.size(), 6U);
  EXPECT_EQ(some.steps.front().step, 1);
  EXPECT_TRUE(some.steps.front().aligned);
  EXPECT_EQ(some.steps.back().step, 3);
  EXPECT_FALSE(some.steps.back().aligned);
  EXPECT_EQ(some.arrivals.size(), 3U);
  // A step that only rank 1 recorded.
  run_.database.sql().exec("DELETE FROM step WHERE step = 2 AND shard_id IN (SELECT id FROM shard WHERE rank = 0)");
  EXPECT_EQ(within(metrics::read_ranks(run_.database, id), 140 * ms, 440 * ms).steps.size(), 4U);
}

TEST_F(Ranks, NamesWhoMakesTheOthersWaitWithItsEvidence) {
  const std::int64_t id = run(4, 20, 3, 12);
  store::HostConditionRow condition;
  condition.measurement_id = id;
  condition.host = "node";
  condition.ranks = 4;
  condition.window_ns = 2'000 * ms;
  condition.cpus = 2;
  condition.steal_share = 0.03;
  store::Inserter<store::HostConditionRow>(run_.database).insert(condition);
  const metrics::RankTimes times = metrics::read_ranks(run_.database, id);
  const metrics::RankFindings findings = find_stragglers(times);
  ASSERT_EQ(findings.ranks.size(), 4U);
  for (const int rank : {0, 1, 2}) EXPECT_FALSE(findings.ranks[static_cast<std::size_t>(rank)].named()) << rank;
  const metrics::RankEvidence& slow = findings.ranks[3];
  EXPECT_TRUE(slow.keeps_waiting);
  EXPECT_TRUE(slow.computes_longer);
  EXPECT_EQ(slow.arrives_last, 20);
  EXPECT_NEAR(slow.kept_waiting_s, 0.012, 1e-5);
  EXPECT_NEAR(slow.compute_excess, 0.2, 1e-3);
  EXPECT_LT(slow.last_p, 1e-9);
  EXPECT_EQ(
      findings.summary,
      "Rank 3 (node) makes the other ranks wait: it arrives last in 100 % of 20 collectives, by 12 ms (median); it "
      "is last in 20 of 20 steps (p < 0.001), which costs the other ranks 12 % of the step; its compute is 20 % "
      "longer than the median of the other ranks (p < 0.001). The hypervisor gave 3.0 % of the processors' time to "
      "other "
      "machines on node.");
  const Table table = stragglers_table(times, findings);
  ASSERT_EQ(table.rows.size(), 1U);
  EXPECT_EQ(table.rows[0][0], Cell(std::int64_t{3}));
}

// Ranks 4 and 5 of 8 compute 5 ms longer, exactly equally: both are last in every step.
TEST_F(Ranks, NamesRanksThatAreEquallySlow) {
  const std::int64_t id = run_.measurement(test::train("ddp", 8));
  std::vector<std::int64_t> shards;
  for (std::int64_t rank = 0; rank < 8; ++rank) shards.push_back(run_.shard(id, rank));
  for (std::int64_t step = 0; step < 10; ++step)
    for (std::int64_t rank = 0; rank < 8; ++rank) {
      const std::int64_t longer = rank == 4 || rank == 5 ? 5 * ms : 0, wait = 5 * ms - longer;
      run_.step(shards[static_cast<std::size_t>(rank)], step, step * 100 * ms, 100 * ms, 60 * ms + longer,
                20 * ms + wait, 10 * ms, wait);
    }
  const metrics::RankFindings findings = find_stragglers(metrics::read_ranks(run_.database, id));
  for (const metrics::RankEvidence& evidence : findings.ranks)
    EXPECT_EQ(evidence.keeps_waiting, evidence.rank == 4 || evidence.rank == 5) << evidence.rank;
  EXPECT_NEAR(findings.ranks[4].lost_share, 0.05, 1e-9);
  EXPECT_NE(findings.summary.find("Rank 5 (node) makes the other ranks wait"), std::string::npos) << findings.summary;
}

// Five steps exclude that rank 3 is last by chance (4 · 4⁻⁵), but not that its compute is longer by chance (4 · 2⁻⁵).
TEST_F(Ranks, FewStepsWithLongerComputeDoNotBlameTheNetwork) {
  const std::int64_t id = run(4, 5, 3, 12);
  const metrics::RankFindings findings = find_stragglers(metrics::read_ranks(run_.database, id));
  EXPECT_TRUE(findings.ranks[3].keeps_waiting);
  EXPECT_FALSE(findings.ranks[3].computes_longer);
  EXPECT_NE(findings.summary.find("its compute is 20 % longer than the median of the other ranks, and longer in 5 of 5 "
                                  "steps, but these are too few independent steps to exclude chance"),
            std::string::npos)
      << findings.summary;
  EXPECT_EQ(findings.summary.find("network"), std::string::npos) << findings.summary;
}

// Rank 0 waits 20 ms of each step of 100 ms for rank 1. Its compute hides all of it but 3 ms.
TEST_F(Ranks, HiddenWaitingCostsNothing) {
  const std::int64_t id = run_.measurement(test::train("ddp", 2));
  const std::int64_t shards[] = {run_.shard(id, 0), run_.shard(id, 1)};
  for (std::int64_t step = 0; step < 30; ++step) {
    run_.step(shards[0], step, step * 100 * ms, 100 * ms, 60 * ms, 35 * ms, 30 * ms, 20 * ms);
    run_.step(shards[1], step, step * 100 * ms, 100 * ms, 60 * ms, 15 * ms, 13 * ms, 0);
  }
  const metrics::RankFindings findings = find_stragglers(metrics::read_ranks(run_.database, id));
  EXPECT_NEAR(findings.ranks[1].lost_share, 0.03, 1e-9);
}

TEST_F(Ranks, NamesNobodyWhereChanceExplainsIt) {
  const std::int64_t id = run(4, 40, -1, 0);
  const metrics::RankTimes times = metrics::read_ranks(run_.database, id);
  const metrics::RankFindings findings = find_stragglers(times);
  for (const metrics::RankEvidence& evidence : findings.ranks) {
    EXPECT_FALSE(evidence.named()) << evidence.rank;
    EXPECT_GT(evidence.last_p, 0.01) << evidence.rank;
  }
  EXPECT_TRUE(findings.summary.starts_with("No straggler: the rank that is last most often")) << findings.summary;
  EXPECT_TRUE(stragglers_table(times, findings).rows.empty());
}

// Two microseconds in a step of 100 ms: significant, but irrelevant.
TEST_F(Ranks, NamesNobodyForWhatCostsNothing) {
  const std::int64_t id = run_.measurement(test::train("ddp", 2));
  const std::int64_t shards[] = {run_.shard(id, 0), run_.shard(id, 1)};
  for (std::int64_t step = 0; step < 30; ++step)
    for (int rank = 0; rank < 2; ++rank)
      run_.step(shards[rank], step, step * 100 * ms, 100 * ms, 60 * ms, 20 * ms, 0, rank == 0 ? 2'000 : 0);
  const metrics::RankFindings findings = find_stragglers(metrics::read_ranks(run_.database, id));
  EXPECT_LT(findings.ranks[1].last_p, 0.01);
  EXPECT_FALSE(findings.ranks[1].named());
  EXPECT_NE(findings.summary.find("this costs the other ranks only"), std::string::npos) << findings.summary;
}

// Steps that vary by a factor of two, equally on all four ranks. Rank 3 takes the share `longer` more, and each rank
// has its own noise, which is correlated over some steps.
metrics::RankTimes varying_steps(unsigned seed, std::size_t steps, double longer, double noise_s) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> common_s(0.060, 0.120);
  std::normal_distribution<double> normal;
  metrics::RankTimes times;
  times.strategy = "ddp";
  times.workers = 4;
  std::array<double, 4> own{};
  for (std::int64_t number = 0; number < static_cast<std::int64_t>(steps); ++number) {
    const double all_s = common_s(random);
    for (std::int64_t rank = 0; rank < times.workers; ++rank) {
      double& drift = own[static_cast<std::size_t>(rank)];
      drift = 0.7 * drift + noise_s * normal(random);
      times.hosts[rank] = "node";
      metrics::RankStep step;
      step.rank = rank;
      step.step = number;
      step.kind = "measured";
      step.step_s = 0.2;
      step.compute_s = all_s * (rank == 3 ? 1.0 + longer : 1.0) + drift;
      times.steps.push_back(step);
    }
  }
  return times;
}

TEST(RanksPaired, FindsARankThatIsSlowerInEveryStep) {
  int found = 0;
  for (unsigned seed = 0; seed < 100; ++seed) {
    const metrics::RankFindings findings = find_stragglers(varying_steps(seed, 40, 0.05, 0.0));
    found += findings.ranks[3].computes_longer;
    for (const std::size_t rank : {0U, 1U, 2U}) EXPECT_FALSE(findings.ranks[rank].computes_longer) << seed;
  }
  EXPECT_GE(found, 95) << "of 100 measurements; in a few the steps appear correlated";
}

// Differences of 3 % and more by chance in many consecutive steps: correlated neighbours are not additional evidence.
TEST(RanksPaired, NamesFewWhereNeighboursAreAlike) {
  int named = 0, longest = 0;
  for (unsigned seed = 0; seed < 200; ++seed)
    for (const metrics::RankEvidence& evidence : find_stragglers(varying_steps(seed, 60, 0.0, 0.01)).ranks) {
      named += evidence.computes_longer;
      longest += evidence.compute_excess >= metrics::finding_compute_least;
    }
  EXPECT_GT(longest, 40) << "the series has long runs of chance differences";
  EXPECT_LE(named, 8) << "of 200 measurements";
}

TEST(RanksPaired, SaysOnlyWhatWasShown) {
  metrics::RankTimes times = varying_steps(1, 40, 0.01, 0.0);  // significant, and less than 2 %
  for (metrics::RankStep& step : times.steps) {
    // Ranks wait, and the last rank changes in turn.
    const bool last = step.rank == step.step % 4;
    step.skew_s = step.exposed_s = last ? 0.0 : 0.01;
  }
  const metrics::RankFindings round = find_stragglers(times);
  EXPECT_LT(round.ranks[3].compute_p, metrics::finding_p_most);
  EXPECT_FALSE(round.ranks[3].named());
  EXPECT_NE(round.summary.find("no rank's compute is significantly (2 % or more) longer than that of the others."),
            std::string::npos)
      << round.summary;
  for (metrics::RankStep& step : times.steps) step.skew_s = step.exposed_s = step.rank == 3 ? 0.0 : 0.01;
  const metrics::RankFindings findings = find_stragglers(times);
  EXPECT_TRUE(findings.ranks[3].keeps_waiting);
  EXPECT_NE(findings.summary.find("neither its compute (limit: 2 % longer) nor its wait for input"), std::string::npos)
      << findings.summary;
}

TEST(RanksPaired, SaysWhichRanksAreMissing) {
  metrics::RankTimes times = varying_steps(1, 40, 0.05, 0.0);
  const double of_four = find_stragglers(times).ranks[3].compute_p;
  EXPECT_TRUE(find_stragglers(times).missing.empty());
  EXPECT_EQ(find_stragglers(times).summary.find("recorded no step"), std::string::npos);
  std::erase_if(times.steps, [](const metrics::RankStep& step) { return step.rank == 1; });
  times.hosts.erase(1);
  const metrics::RankFindings some = find_stragglers(times);
  EXPECT_EQ(some.missing, std::vector<std::int64_t>{1});
  EXPECT_TRUE(some.ranks[2].computes_longer) << "rank 3 is the third recorded rank";
  EXPECT_DOUBLE_EQ(some.ranks[2].compute_p, of_four * 3.0 / 4.0) << "three tests";
  EXPECT_TRUE(some.summary.ends_with(" Rank 1 of 4 recorded no step here and is not compared.")) << some.summary;
  std::erase_if(times.steps, [](const metrics::RankStep& step) { return step.rank != 0; });
  std::erase_if(times.hosts, [](const auto& entry) { return entry.first != 0; });
  EXPECT_EQ(
      find_stragglers(times).summary,
      "Only one rank recorded steps, so ranks cannot be compared. Ranks 1, 2 and 3 of 4 recorded no step here and "
      "are not compared.");
}

// Medians of ranks are for one measurement; the report pools all repeats of a configuration.
TEST_F(Ranks, AreOfOneRepeat) {
  for (std::int64_t repeat = 0; repeat < 2; ++repeat) {
    store::MeasurementRow row = test::train("ddp", 1);
    row.repeat = repeat;
    const std::int64_t shard = run_.shard(run_.measurement(row), 0);
    for (std::int64_t step = 0; step < 5; ++step)
      run_.step(shard, step, step * 100 * ms, 100 * ms, (60 + 20 * repeat) * ms, 0, 0, 0);
  }
  const Table first = ranks_table(metrics::read_ranks(run_.database, 1));
  EXPECT_DOUBLE_EQ(real(first, 0, "compute_median_s"), 0.060);
  EXPECT_DOUBLE_EQ(real(build_report(run_.database, "skew").tables[0], 0, "compute_median_s"), 0.070);
  EXPECT_NE(first.note.find("of this repeat, one of 2"), std::string::npos) << first.note;
}

TEST_F(Ranks, SaysWhenAStepStandsOutAndWhatGrew) {
  const std::int64_t id = run_.measurement(test::train("ddp", 2));
  const std::int64_t shards[] = {run_.shard(id, 0), run_.shard(id, 1)};
  for (std::int64_t step = 0; step < 20; ++step) {
    const std::int64_t longer = (step % 5) * 100'000 + (step == 13 ? 80 * ms : 0);
    for (int rank = 0; rank < 2; ++rank)
      run_.step(shards[rank], step, step * 200 * ms, 100 * ms + longer, 60 * ms + (rank == 1 ? longer : 0),
                20 * ms + (rank == 0 ? longer : 0), 0, rank == 0 ? longer : 0);
  }
  const metrics::RankFindings findings = find_stragglers(metrics::read_ranks(run_.database, id));
  ASSERT_EQ(findings.slow_steps.size(), 1U);
  EXPECT_EQ(findings.slow_steps[0].step, 13);
  EXPECT_EQ(findings.slow_steps[0].slowest_rank, 1);
  EXPECT_NEAR(findings.slow_steps[0].slowest_excess_s, 0.080, 1e-3);
  const Table table = slow_steps_table(findings);
  ASSERT_EQ(table.rows.size(), 1U);
}

TEST_F(Ranks, OneProcessHasNobodyToCompareWith) {
  run_.fill();
  EXPECT_NE(find_stragglers(metrics::read_ranks(run_.database, 1)).summary.find("There is only one rank"),
            std::string::npos);
  EXPECT_NE(find_stragglers(metrics::read_ranks(run_.database, 3)).summary.find("DataParallel is one process"),
            std::string::npos);
  EXPECT_THROW(metrics::read_ranks(run_.database, 99), std::invalid_argument);
}

}  // namespace
}  // namespace ddpprof::report
