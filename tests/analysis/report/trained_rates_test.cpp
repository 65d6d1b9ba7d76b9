// Recorded learning rates compared with a plan: the steps of the training, and the differences.
#include "analysis/metrics/trained_rates.hpp"
#include "analysis/report/tables/learning_rate/trained_rates_table.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "tests/analysis/report/synthetic_run.hpp"

namespace ddpprof::report {
namespace {

TEST(TrainedRates, AreThoseOfTheTrainingAlone) {
  const auto path = std::filesystem::temp_directory_path() / ("ddpprof_rates_" + std::to_string(getpid()) + ".db");
  {
    test::SyntheticRun run(path);
    store::Inserter<store::StepRow> rows(run.database);
    const auto step = [&](std::int64_t shard, std::int64_t number, const char* kind, std::optional<double> rate) {
      store::StepRow row;
      row.shard_id = shard;
      row.step = number;
      row.kind = kind;
      row.learning_rate = rate;
      rows.insert(row);
    };
    const auto plan = [](std::int64_t workers, std::int64_t at) {
      return 0.1 * static_cast<double>(workers) + static_cast<double>(at);
    };
    // A complete training of two ranks, then the warm-up and steps of the copy without the DDP wrapper.
    const std::int64_t two = run.measurement(test::train("ddp", 2));
    for (std::int64_t rank = 0; rank < 2; ++rank) {
      const std::int64_t shard = run.shard(two, rank);
      for (std::int64_t i = 0; i < 6; ++i) step(shard, i, i < 2 ? "warmup" : "measured", plan(2, i));
      step(shard, 6, "warmup", 9.0);
      step(shard, 7, "unwrapped", 9.0);
    }
    // A training resumed at step 100. Rank 1 used another rate in one step, and one step has no rate.
    store::MeasurementRow resumed = test::train("ddp", 2);
    resumed.repeat = 1;
    resumed.options = R"({"resumed_step":100})";
    const std::int64_t again = run.measurement(resumed);
    for (std::int64_t rank = 0; rank < 2; ++rank) {
      const std::int64_t shard = run.shard(again, rank);
      for (std::int64_t i = 0; i < 4; ++i)
        step(shard, i, "measured", rank == 1 && i == 1 ? 2.0 * plan(2, 101) : plan(2, 100 + i));
      step(shard, 4, "measured", std::nullopt);
    }
    // No rate was recorded.
    step(run.shard(run.measurement(test::train("ddp", 1)), 0), 0, "measured", std::nullopt);

    const std::vector<metrics::TrainedRates> all =
        metrics::trained_rates(run.database, [&](const metrics::RecordedStep& recorded) {
          return metrics::PlannedStep{plan(recorded.workers, recorded.step), {}};
        });
    ASSERT_EQ(all.size(), 2U);
    EXPECT_EQ(all[0].steps, 6);
    EXPECT_EQ(all[0].unlike, 0);
    EXPECT_EQ(all[0].first_step, 0);
    EXPECT_EQ(all[0].first_lr, plan(2, 0));
    EXPECT_EQ(all[0].last_lr, plan(2, 5));
    EXPECT_EQ(all[0].largest_difference, 0.0);
    EXPECT_EQ(all[1].first_step, 100);
    EXPECT_EQ(all[1].steps, 4);
    EXPECT_EQ(all[1].unlike, 1);
    EXPECT_DOUBLE_EQ(all[1].largest_difference, 1.0);
    EXPECT_EQ(all[1].last_planned_lr, plan(2, 103));

    const Table table = trained_rates_table(all, "rule linear");
    ASSERT_EQ(table.rows.size(), 2U);
    EXPECT_EQ(table.rows[1].at(3), Cell(std::int64_t{100}));
    EXPECT_NE(table.note.find("rule linear"), std::string::npos);
    EXPECT_FALSE(trained_rates_table({}, "").empty.empty());
  }
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace ddpprof::report
