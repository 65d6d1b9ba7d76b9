// Predictions of a sharded training with all-gathers and reduce-scatters measured elsewhere: logs follow the law of
// sharded_measurements.hpp, or a multiple of it.
#include "tests/analysis/predict/sharded_measurements.hpp"

#include <gmock/gmock.h>

#include <vector>

namespace ddpprof::fit {
namespace {

using testing::HasSubstr;

CollectiveRun run_of(const std::string& op, std::int64_t ranks, std::int64_t hosts, double factor = 1.0) {
  CollectiveRun run{op, ranks, hosts, {}};
  const Made made{.nodes = hosts};
  for (const double bytes : {1e3, 1e4, 1e5, 1e6, 2e6, 4e6, 1e7, 1e8})
    run.times.push_back(
        {bytes, factor * (op == "all_gather" ? gather_of(ranks, bytes, made) : scatter_of(ranks, bytes, made))});
  return run;
}

std::vector<CollectiveRun> runs_of(std::int64_t ranks, std::int64_t hosts, double factor = 1.0) {
  return {run_of("all_gather", ranks, hosts, factor), run_of("reduce_scatter", ranks, hosts, factor)};
}

TEST_F(Sharded, LogsReplaceLinksThatWereNotMeasured) {
  const Made inside{.device = "cuda", .cores = 8}, between{.device = "cuda", .nodes = 4, .cores = 8};
  measure(1, inside);
  measure(2, inside);
  PredictOptions options;
  options.gpus_per_node = 2;
  EXPECT_FALSE(predicted(true, options).contains(8));
  EXPECT_TRUE(noted("prediction_none", "between hosts were not measured"));
  options.shard_collectives = runs_of(8, 4);
  const std::map<std::int64_t, Prediction> rows = predicted(true, options);
  ASSERT_TRUE(rows.contains(8));
  const strategy::ShardedOutcome truth = simulated(8, between);
  EXPECT_NEAR(rows.at(8).communication_s, truth.communication_s, 1e-4 * truth.communication_s);
  EXPECT_NEAR(rows.at(8).exposed_s / truth.exposed_s(), 1.0, near);
  EXPECT_LT(rows.at(8).step_low_s, 0.97 * rows.at(8).step_s);
  EXPECT_GT(rows.at(8).step_high_s, 1.03 * rows.at(8).step_s);
  EXPECT_NEAR(rows.at(2).exposed_s, simulated(2, inside).exposed_s(), 1e-6) << "measured";
  options.shard_collectives = {run_of("all_gather", 8, 4)};
  EXPECT_FALSE(predicted(true, options).contains(8)) << "without the reduce-scatters";
  options.shard_collectives = runs_of(8, 1);
  EXPECT_FALSE(predicted(true, options).contains(8)) << "of one host only";
  EXPECT_TRUE(noted("prediction_none", "between hosts"));
}

// The job's calls at N = 2 take 1.4 times as long as in the log, and so do those at N = 8.
TEST_F(Sharded, TheJobsOwnCallsScaleTheLog) {
  measure(1, {.cores = 8});
  measure(2, {.cores = 8});
  PredictOptions options;
  options.shard_collectives = runs_of(2, 1, 1 / 1.4);
  for (const CollectiveRun& run : runs_of(8, 1, 1 / 1.4)) options.shard_collectives.push_back(run);
  const Prediction row = predicted(true, options).at(8);
  EXPECT_NEAR(row.exposed_s, exposed_s(8), 1e-3 * exposed_s(8));
  EXPECT_FALSE(noted("prediction_uncertain", "as in the log"));
  options.shard_collectives = runs_of(2, 1, 1 / 2.5);
  predicted(true, options);
  EXPECT_TRUE(noted("prediction_uncertain", "the job's all-gathers take 2.5 times as long as in the log"));
}

TEST_F(Sharded, ReplicasOverHostsTakeTheLogsLinksBetweenHosts) {
  const Made inside{.device = "cuda", .cores = 8};
  measure(1, inside);
  measure(2, inside);
  PredictOptions options;
  options.gpus_per_node = 4;
  options.shard_collectives = runs_of(4, 1);
  options.what_if = parse_what_if(std::vector<std::string>{"replicate=2"});
  predicted(true, options);
  EXPECT_TRUE(std::ranges::none_of(result_.what_ifs, [](const WhatIfRow& row) { return row.workers == 8; }))
      << "the links between hosts are in no log";
  for (const CollectiveRun& run : runs_of(2, 2)) options.shard_collectives.push_back(run);
  for (const CollectiveRun& run : runs_of(8, 2)) options.shard_collectives.push_back(run);
  predicted(true, options);
  const auto found = std::ranges::find(result_.what_ifs, 8, &WhatIfRow::workers);
  ASSERT_NE(found, result_.what_ifs.end());
  double gathers_s = 0, scatters_s = 0;
  for (const Unit& unit : units) {
    if (unit.bytes == 0) continue;
    const Made between{.nodes = 2};
    gathers_s += 2 * gather_of(4, unit.bytes);
    scatters_s +=
        scatter_of(4, unit.bytes) + scatter_of(2, unit.bytes / 4, between) + gather_of(2, unit.bytes / 4, between);
  }
  EXPECT_GT(found->changed_step_s, compute_s(8, {.replicas = 2}));
  EXPECT_LT(found->changed_step_s, compute_s(8, {.replicas = 2}) + other_s + 1.02 * (gathers_s + scatters_s));
}

}  // namespace
}  // namespace ddpprof::fit
