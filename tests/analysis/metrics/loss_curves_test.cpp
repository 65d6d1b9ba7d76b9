// Loss curves of a file: only of the workload of the fits, and only steps with a loss on every rank.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "analysis/fit/measured/measured.hpp"
#include "analysis/metrics/loss_curves.hpp"
#include "tests/analysis/report/synthetic_run.hpp"

namespace ddpprof::metrics {
namespace {

// The workload of the fits and the workload of the losses, from one file.
TEST(LossCurves, AreOfTheWorkloadOfTheFits) {
  const auto path = std::filesystem::temp_directory_path() / ("ddpprof_losses_" + std::to_string(getpid()) + ".db");
  for (const bool other_first : {true, false}) {
    test::SyntheticRun run(path);
    const auto measure = [&](const char* model, std::int64_t workers) {
      auto row = test::train("ddp", workers);
      row.model = model;
      const std::int64_t id = run.measurement(row);
      for (std::int64_t rank = 0; rank < workers; ++rank) {
        const std::int64_t shard = run.shard(id, rank);
        for (std::int64_t i = 0; i < 12; ++i)
          run.step(shard, i, 100 * i * test::ms, 100 * test::ms, 90 * test::ms, 0, 0, 0);
      }
    };
    measure(other_first ? "x" : "m", 1);
    measure(other_first ? "m" : "x", 1);
    const auto fitted = fit::load(run.database);
    ASSERT_TRUE(fitted.mixed);
    const auto configurations = read_configurations(run.database.sql());
    const Configuration* chosen = of_models_workload(configurations);
    ASSERT_NE(chosen, nullptr);
    EXPECT_EQ(chosen->model, other_first ? "x" : "m");
    EXPECT_NE(fitted.warnings.front().find("predictions use " + chosen->model + ","), std::string::npos)
        << fitted.warnings.front();
    const LossCurves losses = loss_curves(run.database);
    EXPECT_EQ(losses.curves.size(), 1U);
    EXPECT_EQ(losses.left_out, 1);
  }
  std::filesystem::remove(path);
}

// Rank 1 has no loss in step 5, so the mean of rank 0 must not be used.
TEST(LossCurves, HaveNothingWhereARankHasNoLoss) {
  const auto path = std::filesystem::temp_directory_path() / ("ddpprof_loss_" + std::to_string(getpid()) + ".db");
  {
    test::SyntheticRun run(path);
    const std::int64_t id = run.measurement(test::train("ddp", 2));
    for (std::int64_t rank = 0; rank < 2; ++rank) {
      const std::int64_t shard = run.shard(id, rank);
      for (std::int64_t i = 0; i < 24; ++i)
        run.step(shard, i, 100 * i * test::ms, 100 * test::ms, 90 * test::ms, 0, 0, 0);
    }
    run.database.sql().exec(
        "UPDATE step SET loss = NULL WHERE step = 5 AND shard_id = (SELECT id FROM shard WHERE rank = 1)");
    const auto configurations = read_configurations(run.database.sql());
    ASSERT_EQ(configurations.size(), 1U);
    ASSERT_EQ(configurations[0].measured.size(), 24U);
    for (const RunStep& step : configurations[0].measured)
      EXPECT_EQ(step.has_loss, step.step != 5) << step.step;
    const Losses smooth = loss_curves(run.database).curves.at(0).repeats.at(0);
    EXPECT_FALSE(smooth.at(14)) << "its ten steps include step 5";
    EXPECT_DOUBLE_EQ(smooth.at(15).value(), 2.5);
  }
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace ddpprof::metrics
