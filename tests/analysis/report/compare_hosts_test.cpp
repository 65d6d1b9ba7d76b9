// Traces without devices, and collectives: times of host operations and of each message size in two files.
#include <gmock/gmock.h>

#include "tests/analysis/report/kernels_of_steps.hpp"
#include "tests/analysis/report/two_files.hpp"

namespace ddpprof {
namespace {

using nlohmann::json;
using test::ms;

class CompareHosts : public test::TwoFiles {
 protected:
  // 8 steps of 100 ms. Thread 1: aten::linear for 40 ms, inside it aten::addmm for `inner_ms`, inside that aten::copy_
  // for 5 ms. Thread 2: aten::mul for 10 ms at the same time, which is not nested in thread 1.
  static void operations(test::SyntheticRun& run, std::int64_t inner_ms) {
    store::BulkLoad load(run.database);
    store::MeasurementRow row = test::train("ddp", 1);
    row.scenario_id.reset();
    row.kind = "import";
    const std::int64_t shard = run.shard(run.measurement(row), 0);
    run.database.sql().exec("UPDATE shard SET raw_kept = 1");
    store::Inserter<store::StringRow> strings(run.database);
    const std::int64_t operation = strings.insert({{}, "operation"}), annotation = strings.insert({{}, "annotation"});
    const std::int64_t linear = strings.insert({{}, "aten::linear"}), addmm = strings.insert({{}, "aten::addmm"});
    const std::int64_t copy = strings.insert({{}, "aten::copy_"}), mul = strings.insert({{}, "aten::mul"});
    store::Inserter<store::RangeRow> ranges(run.database);
    const auto add = [&](std::int64_t tid, std::int64_t name, std::int64_t domain, std::int64_t at, std::int64_t took) {
      ranges.insert({shard, tid, name, domain, store::RangeKind::push_pop, -1, at, at + took * ms, {}});
    };
    for (std::int64_t step = 0; step < 8; ++step) {
      const std::int64_t at = step * 100 * ms;
      run.step(shard, step, at, 100 * ms, 60 * ms, 0, 0, 0);
      add(1, copy, operation, at + 15 * ms, 5);  // not in order of time, like shards of threads
      add(1, linear, operation, at + 10 * ms, 40);
      add(1, addmm, operation, at + 12 * ms, inner_ms);
      add(1, linear, annotation, at + 10 * ms, 80);
      add(2, mul, operation, at + 13 * ms, 10);
    }
    load.commit();
  }

  // 8 steps of two ranks with two all-reduces of `large` bytes and one of 1 MiB.
  static void collectives(test::SyntheticRun& run, std::int64_t large, std::int64_t transfer_ms, std::int64_t skew_ms) {
    store::BulkLoad load(run.database);
    const std::int64_t id = run.measurement(test::train("ddp", 2));
    for (std::int64_t rank = 0; rank < 2; ++rank) {
      const std::int64_t shard = run.shard(id, rank), wait = rank == 0 ? skew_ms * ms : 0;
      for (std::int64_t i = 0; i < 8; ++i) {
        const std::int64_t at = i * 100 * ms, step = run.step(shard, i, at, 100 * ms, 60 * ms, 20 * ms, 10 * ms, wait);
        for (std::int64_t k = 0; k < 2; ++k)
          run.collective(shard, step, 3 * i + k, k, large, at, at, at + transfer_ms * ms + wait, transfer_ms * ms);
        run.collective(shard, step, 3 * i + 2, 2, 1 << 20, at, at, at + 2 * ms, 2 * ms);
      }
    }
    load.commit();
  }
};

TEST_F(CompareHosts, OperationsAreComparedByTheTimeTheyTakeThemselves) {
  operations(*a_, 20);
  operations(*b_, 30);
  const json report = compared(), all = rows(report, "compare_kernels");
  const json answer = row(report, "compare_answer", {{"verdict", "different"}});
  EXPECT_THAT(answer["what"].get<std::string>(), testing::StartsWith("on the host: aten::"));
  ASSERT_EQ(all.size(), 4U) << all;
  std::map<std::string, json> by_name;
  for (const json& one : all) {
    EXPECT_EQ(one["kind"], "operation");
    EXPECT_DOUBLE_EQ(one["a_calls"], 1.0) << "annotations are not operations";
    by_name[one["name"]] = one;
  }
  EXPECT_DOUBLE_EQ(by_name["aten::linear"]["a_s"], 0.020);
  EXPECT_DOUBLE_EQ(by_name["aten::linear"]["b_s"], 0.010);
  EXPECT_DOUBLE_EQ(by_name["aten::addmm"]["a_s"], 0.015);
  EXPECT_DOUBLE_EQ(by_name["aten::addmm"]["b_s"], 0.025);
  EXPECT_EQ(by_name["aten::addmm"]["verdict"], "different");
  EXPECT_DOUBLE_EQ(by_name["aten::mul"]["a_s"], 0.010) << "on a separate thread";
  EXPECT_EQ(by_name["aten::mul"]["verdict"], "no difference shown");
  EXPECT_DOUBLE_EQ(by_name["aten::copy_"]["a_s"], 0.005);
}

// A step of one rank: 2 · (8 + 4 / 2) ms and 2 · (12 + 4 / 2) ms.
TEST_F(CompareHosts, CollectivesAreComparedBySize) {
  collectives(*a_, 4 << 20, 8, 4);
  collectives(*b_, 4 << 20, 12, 4);
  const json all = rows(compared(), "compare_collectives");
  ASSERT_EQ(all.size(), 2U) << all;
  EXPECT_EQ(all[0]["op"], "all_reduce");
  EXPECT_EQ(all[0]["bytes"], 4 << 20);
  EXPECT_DOUBLE_EQ(all[0]["a_s"], 0.020);
  EXPECT_DOUBLE_EQ(all[0]["b_s"], 0.028);
  EXPECT_NEAR(all[0]["difference_of_step"].get<double>(), 0.08, 1e-12);
  EXPECT_EQ(all[0]["verdict"], "different");
  EXPECT_DOUBLE_EQ(all[0]["a_calls"], 2.0);
  EXPECT_NEAR(all[0]["a_duration_s"].get<double>(), 0.010, 1e-12);
  EXPECT_NEAR(all[0]["a_transfer_s"].get<double>(), 0.008, 1e-12);
  EXPECT_NEAR(all[0]["b_transfer_s"].get<double>(), 0.012, 1e-12);
  EXPECT_NEAR(all[0]["b_skew_s"].get<double>(), 0.002, 1e-12) << "4 ms on one of two ranks";
  EXPECT_EQ(all[1]["bytes"], 1 << 20);
  EXPECT_EQ(all[1]["verdict"], "no difference shown");
}

TEST_F(CompareHosts, SizesOfOneFileAloneAreListed) {
  collectives(*a_, 4 << 20, 8, 0);
  collectives(*b_, 8 << 20, 8, 0);
  const json all = rows(compared(), "compare_collectives");
  ASSERT_EQ(all.size(), 3U) << all;
  const json gone = row(json{{"tables", {{{"name", "compare_collectives"}, {"rows", all}}}}}, "compare_collectives",
                        {{"bytes", 4 << 20}});
  EXPECT_DOUBLE_EQ(gone["b_s"], 0.0);
  EXPECT_TRUE(gone["b_duration_s"].is_null());
  EXPECT_EQ(gone["verdict"], "different");
  EXPECT_EQ(gone["why"], "in 8 of 8 steps of A, in 0 of 8 steps of B");
}

}  // namespace
}  // namespace ddpprof
