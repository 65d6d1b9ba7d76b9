// The report of a training's memory.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "analysis/report/render/render.hpp"
#include "analysis/report/report.hpp"
#include "tests/analysis/report/synthetic_run.hpp"

namespace ddpprof {
namespace {

TEST(MemoryTable, HasTheFullestOfRanksRepeatsAndReplicas) {
  const std::filesystem::path path =
      std::filesystem::path(testing::TempDir()) / ("memory_" + std::to_string(getpid()) + ".db");
  nlohmann::json rows;
  {
    test::SyntheticRun run(path);
    const auto add = [&](std::int64_t id, std::int64_t rank, std::int64_t device, std::optional<std::int64_t> held,
                         std::int64_t peak) {
      store::Inserter<store::MemoryRow>(run.database).insert({id, rank, device, held, peak});
    };
    store::BulkLoad load(run.database);
    for (std::int64_t repeat = 0; repeat < 2; ++repeat) {
      store::MeasurementRow row = test::train("ddp", 2);
      row.repeat = repeat;
      const std::int64_t ddp = run.measurement(row);
      for (std::int64_t rank = 0; rank < 2; ++rank) {
        run.step(run.shard(ddp, rank), 0, 0, 100 * test::ms, 0, 0, 0, 0);
        add(ddp, rank, 0, 100 + repeat, 200 + 10 * rank);
        add(ddp, rank, -1, std::nullopt, 1000 + rank + 2 * repeat);
      }
    }
    const std::int64_t dp = run.measurement(test::train("dp", 3));
    run.step(run.shard(dp, 0), 0, 0, 100 * test::ms, 0, 0, 0, 0);
    add(dp, 0, 0, 300, 400);
    add(dp, 0, 1, 10, 20);
    add(dp, 0, 2, 10, 30);
    const std::int64_t unknown = run.measurement(test::train("ddp", 4));
    run.step(run.shard(unknown, 0), 0, 0, 100 * test::ms, 0, 0, 0, 0);
    load.commit();
    std::ostringstream out;
    render(report::build_report(run.database, "memory"), report::Format::json, out);
    rows = nlohmann::json::parse(out.str())["tables"][0]["rows"];
  }
  std::filesystem::remove(path);
  ASSERT_EQ(rows.size(), 2u);  // a measurement without memory has no row
  const auto& ddp = rows[rows[0]["strategy"] == "ddp" ? 0 : 1];
  const auto& dp = rows[rows[0]["strategy"] == "ddp" ? 1 : 0];
  EXPECT_EQ(ddp["workers"], 2);
  EXPECT_EQ(ddp["device0_held_bytes"], 101);
  EXPECT_EQ(ddp["device0_peak_bytes"], 210);
  EXPECT_TRUE(ddp["others_peak_bytes"].is_null());
  EXPECT_EQ(ddp["process_peak_bytes"], 1003);
  EXPECT_EQ(dp["workers"], 3);
  EXPECT_EQ(dp["device0_peak_bytes"], 400);
  EXPECT_EQ(dp["others_peak_bytes"], 30);
  EXPECT_TRUE(dp["process_peak_bytes"].is_null());
}

}  // namespace
}  // namespace ddpprof
