// The counter "overlap" of the Chrome export: levels computed by hand, and their sums compared with an import's values.
#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "analysis/export/export.hpp"
#include "analysis/import/load/import.hpp"
#include "tests/analysis/report/synthetic_run.hpp"
#include "tests/tiers.hpp"

namespace ddpprof {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct Level {
  std::int64_t at_ns = 0;
  std::string busy;  // "compute alone", "both", "communication alone", "": neither
  bool operator==(const Level&) const = default;
};
void PrintTo(const Level& level, std::ostream* out) { *out << level.at_ns << " ns: " << level.busy; }

class Counters : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("ddpprof_counters_" + std::to_string(getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::vector<Level> levels(store::Database& database, std::int64_t shard) const {
    export_::export_chrome(database, folder_ / "trace.json");
    std::ifstream in(folder_ / "trace.json", std::ios::binary);
    std::vector<Level> found;
    const json document = json::parse(in);
    for (const json& event : document["traceEvents"]) {
      if (event["ph"] != "C" || event["pid"] != shard) continue;
      EXPECT_EQ(event["name"], "overlap");
      Level& level = found.emplace_back();
      level.at_ns = std::llround(event["ts"].get<double>() * 1000.0);
      int set = 0;
      for (const auto& [name, value] : event["args"].items())
        if (value == 1) {
          level.busy = name;
          ++set;
        }
      EXPECT_LE(set, 1);
      EXPECT_EQ(event["args"].size(), 3U);
    }
    return found;
  }

  fs::path folder_;
};

// Forward 0 to 30 ms, backward to 90, optimizer to 100. The last gradient is ready at 60. Bucket 0 is in flight from 40
// to 70, bucket 1 from 60 to 80: backward waits from 60 to 80.
TEST_F(Counters, OfAStepOnProcessors) {
  test::SyntheticRun run(folder_ / "run.db");
  const std::int64_t shard = run.shard(run.measurement(test::train("ddp", 2)), 0);
  const std::int64_t step = run.step(shard, 0, 0, 100 * test::ms, 80 * test::ms, 40 * test::ms, 20 * test::ms, 0);
  run.database.sql().exec("DELETE FROM phase");
  store::Inserter<store::PhaseRow> phases(run.database);
  phases.insert({step, "forward", 0, 0, 30 * test::ms, {}});
  phases.insert({step, "backward", 0, 30 * test::ms, 60 * test::ms, {}});
  phases.insert({step, "optimizer", 0, 90 * test::ms, 10 * test::ms, {}});
  store::Inserter<store::GradReadyRow>(run.database).insert({step, 0, 60 * test::ms});
  run.collective(shard, step, 0, 0, 1, 40 * test::ms, 40 * test::ms, 70 * test::ms, 30 * test::ms);
  run.collective(shard, step, 1, 1, 1, 60 * test::ms, 60 * test::ms, 80 * test::ms, 20 * test::ms);
  EXPECT_THAT(levels(run.database, shard),
              testing::ElementsAre(Level{0, "compute alone"}, Level{40 * test::ms, "both"},
                                   Level{60 * test::ms, "communication alone"}, Level{80 * test::ms, "compute alone"},
                                   Level{100 * test::ms, ""}));
}

// Gaps between kernel launches make no events; beside communication every gap counts.
TEST_F(Counters, OfKernelsWithGaps) {
  test::SyntheticRun run(folder_ / "run.db");
  store::MeasurementRow row = test::train("ddp", 2);
  row.device = "cuda";
  row.backend = "nccl";
  const std::int64_t shard = run.shard(run.measurement(row), 0);
  store::StringInterner strings(run.database);
  const std::int64_t gemm = strings.intern("gemm"), nccl = strings.intern("ncclDevKernel_AllReduce");
  store::Inserter<store::KernelRow> kernels(run.database);
  const auto kernel = [&](std::int64_t name, std::int64_t from_us, std::int64_t to_us) {
    kernels.insert({shard, name, 0, 7, 1, from_us * 1000, to_us * 1000, 1, 1, 1, 0});
  };
  kernel(gemm, 0, 10);
  kernel(gemm, 10, 20);    // touches the one before
  kernel(gemm, 119, 130);  // a gap of 99 µs
  kernel(gemm, 230, 240);  // a gap of 100 µs
  kernel(nccl, 300, 400);  // with a gap in computing inside
  kernel(gemm, 310, 330);
  kernel(gemm, 331, 350);
  kernel(nccl, 390, 395);  // inside the other
  kernel(gemm, 410, 410);  // lasts 0 ns
  EXPECT_THAT(levels(run.database, shard),
              testing::ElementsAre(Level{0, "compute alone"}, Level{130'000, ""}, Level{230'000, "compute alone"},
                                   Level{240'000, ""}, Level{300'000, "communication alone"}, Level{310'000, "both"},
                                   Level{330'000, "communication alone"}, Level{331'000, "both"},
                                   Level{350'000, "communication alone"}, Level{400'000, ""}));
}

TEST_F(Counters, OfADeviceWhoseKernelsWereNotKeptThereAreNone) {
  test::SyntheticRun run(folder_ / "run.db");
  store::MeasurementRow row = test::train("ddp", 2);
  row.device = "cuda";
  const std::int64_t shard = run.shard(run.measurement(row), 0);
  run.step(shard, 0, 0, 100 * test::ms, 80 * test::ms, 40 * test::ms, 20 * test::ms, 0);
  EXPECT_THAT(levels(run.database, shard), testing::IsEmpty());
}

TEST_F(Counters, OfAnImportSumUpToItsFigures) {
  const char* data = std::getenv("DDPPROF_DATA_DIR");
  if (!data || !fs::exists(fs::path(data) / "traces")) GTEST_SKIP() << "no measured traces";
  for (const char* trace : {"a100_ddp_rank0of2.json.gz", "v100_ddp_rank1of2.json.gz"}) {
    if (trace[0] == 'v' && !test::long_tests()) continue;  // five times as large
    store::Database database = store::Database::create(folder_ / "imported.db", store::Replace::yes);
    import::ImportOptions options;
    options.files = {fs::path(data) / "traces" / trace};
    options.temporary_folder = folder_;
    import::import_traces(database, options);
    std::map<std::string, std::int64_t> sums_ns;
    const std::vector<Level> found = levels(database, 1);
    for (std::size_t i = 0; i + 1 < found.size(); ++i) sums_ns[found[i].busy] += found[i + 1].at_ns - found[i].at_ns;
    SQLite::Statement all(database.sql(),
                          "SELECT communication_ns, overlapped_ns, compute_ns, (SELECT COUNT(*) FROM range) FROM "
                          "device_time WHERE name = 'all'");
    ASSERT_TRUE(all.executeStep());
    const std::int64_t communication_ns = all.getColumn(0).getInt64(), overlapped_ns = all.getColumn(1).getInt64();
    EXPECT_EQ(sums_ns["both"], overlapped_ns) << trace;
    EXPECT_EQ(sums_ns["communication alone"], communication_ns - overlapped_ns) << trace;
    EXPECT_GE(sums_ns["compute alone"], all.getColumn(2).getInt64() - overlapped_ns) << trace;
    EXPECT_LT(found.size(), static_cast<std::size_t>(all.getColumn(3).getInt64()) / 4) << trace << ": too many events";
  }
}

}  // namespace
}  // namespace ddpprof
