// A recorded file of two GPUs, compared with values computed independently from it; imported through the database.
#include <SQLiteCpp/Statement.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include "analysis/import/load/import.hpp"
#include "tests/analysis/import/nsight/export_file.hpp"

namespace ddpprof::import::nsight_test {
namespace {

namespace fs = std::filesystem;

using Figures = std::map<std::string, std::int64_t>;

std::vector<Figures> expected_figures(const fs::path& table) {
  std::ifstream file(table);
  std::string line, cell;
  std::vector<std::string> names;
  std::vector<Figures> figures;
  while (std::getline(file, line)) {
    std::istringstream cells(line);
    std::vector<std::string> row;
    while (std::getline(cells, cell, ',')) row.push_back(cell);
    if (names.empty()) {
      names = row;
      continue;
    }
    figures.emplace_back();
    for (std::size_t i = 1; i < row.size() && i < names.size(); ++i) figures.back()[names[i]] = std::stoll(row[i]);
  }
  return figures;
}

class Imported {
 public:
  Imported(const fs::path& file, bool raw)
      : path_(fs::temp_directory_path() / ("measured_" + std::to_string(getpid()) + ".db")),
        database_(store::Database::create(path_, store::Replace::yes)) {
    ImportOptions options;
    options.files = {file};
    options.keep_raw = raw;
    result_ = import_traces(database_, options);
    database_.finish_load();
  }
  ~Imported() {
    std::error_code error;
    fs::remove(path_, error);
  }
  Imported(const Imported&) = delete;
  Imported& operator=(const Imported&) = delete;

  std::int64_t number(const std::string& sql) {
    SQLite::Statement query(database_.sql(), sql);
    return query.executeStep() ? query.getColumn(0).getInt64() : INT64_MIN;
  }
  const ImportResult& result() const { return result_; }

 private:
  fs::path path_;
  store::Database database_;
  ImportResult result_;
};

TEST(MeasuredExport, OfTwoGpusGivesTheIndependentFigures) {
  const char* folder = std::getenv("DDPPROF_DATA_DIR");
  const fs::path traces = folder ? fs::path(folder) / "traces" : fs::path();
  if (!folder || !fs::exists(traces / "two_gpus_nsys.sqlite")) GTEST_SKIP() << "DDPPROF_DATA_DIR holds no traces";
  const std::vector<Figures> expected = expected_figures(traces / "expected_nsys.csv");
  ASSERT_EQ(expected.size(), 2U);
  for (const bool raw : {false, true}) {
    Imported imported(traces / "two_gpus_nsys.sqlite", raw);
    EXPECT_EQ(imported.result().ranks, 2);
    for (const Figures& figures : expected) {
      const std::string of_device =
          " FROM device_time JOIN shard ON shard.id = shard_id WHERE name = 'all' AND rank = " +
          std::to_string(figures.at("device"));
      const auto number = [&](const std::string& what) { return imported.number("SELECT " + what + of_device); };
      EXPECT_EQ(number("kernels + collective_kernels"), figures.at("kernels"));
      EXPECT_EQ(number("collective_kernels"), figures.at("nccl_kernels"));
      EXPECT_EQ(number("span_ns"), figures.at("span_ns"));  // no copy lies outside the kernels
      EXPECT_EQ(number("compute_ns"), figures.at("compute_ns"));
      EXPECT_EQ(number("communication_ns"), figures.at("nccl_ns"));
      EXPECT_EQ(number("overlapped_ns"), figures.at("overlap_ns"));
      EXPECT_EQ(number("communication_ns - overlapped_ns"), figures.at("exposed_nccl_ns"));
      EXPECT_EQ(number("span_ns - compute_ns - communication_ns + overlapped_ns"), figures.at("kernel_idle_ns"));
    }
    EXPECT_EQ(imported.number("SELECT count(*) FROM kernel"), raw ? 4010 : 0);
    EXPECT_EQ(imported.number("SELECT count(*) FROM range"), raw ? 19118 : 0);
    EXPECT_EQ(imported.number("SELECT count(*) FROM api_call"), raw ? 7466 : 0);
    EXPECT_EQ(imported.number("SELECT count(*) FROM memcpy"), raw ? 1020 + 269 : 0);
  }
}

TEST(MeasuredExport, SeveralFilesOfSeveralRanksAreOneMeasurement) {
  Export first, second;
  for (const std::int64_t device : {0, 1}) {
    first.kernel({.start_ns = 0, .end_ns = 100 + device, .device = device});
    second.kernel({.start_ns = 0, .end_ns = 200 + device, .device = device});
  }
  const fs::path path = fs::temp_directory_path() / ("several_" + std::to_string(getpid()) + ".db");
  store::Database database = store::Database::create(path, store::Replace::yes);
  ImportOptions options;
  options.files = {first.done(), second.done()};
  const ImportResult result = import_traces(database, options);
  EXPECT_EQ(result.ranks, 4);
  EXPECT_EQ(result.world_size, 4);
  SQLite::Statement wall(database.sql(), "SELECT wall_ns, started_utc_ns FROM measurement");
  ASSERT_TRUE(wall.executeStep());
  EXPECT_EQ(wall.getColumn(0).getInt64(), 100);  // of the first rank, by its devices
  EXPECT_EQ(wall.getColumn(1).getInt64(), 0);
  for (const std::int64_t rank : {0, 1, 2, 3}) {
    SQLite::Statement query(database.sql(),
                            "SELECT compute_ns, count(kernel.shard_id) FROM device_time JOIN shard ON shard.id = "
                            "device_time.shard_id JOIN kernel ON kernel.shard_id = shard.id WHERE rank = ?");
    query.bind(1, rank);
    ASSERT_TRUE(query.executeStep());
    EXPECT_EQ(query.getColumn(0).getInt64(), 100 * (1 + rank / 2) + rank % 2) << rank;
    EXPECT_EQ(query.getColumn(1).getInt64(), 1) << rank;
  }
  fs::remove(path);
}

TEST(MeasuredExport, ATrainingOfTwoProcessesGivesStepsBucketsAndParameters) {
  Export file;
  file.nccl_schemas();
  for (const std::int64_t rank : {0, 1}) {
    const std::int64_t pid = 500 + rank;
    std::int64_t correlation = 0;
    const auto launch = [&](std::int64_t host_ns, Kernel kernel) {
      kernel.device = rank;
      kernel.pid = pid;
      kernel.correlation = ++correlation;
      file.call(host_ns, host_ns + 10, correlation, pid, pid);
      file.kernel(kernel);
    };
    const auto range = [&](std::int64_t from_ns, std::int64_t to_ns, const std::string& name) {
      file.range({.start_ns = from_ns, .end_ns = to_ns, .name = name, .pid = pid, .tid = pid});
    };
    for (std::int64_t step = 0; step < 5; ++step) {
      const std::int64_t t = 100'000 * (step + 1);
      range(t, t + 90'000, "step " + std::to_string(step));
      range(t + 100, t + 1'000, "forward");
      range(t + 1'000, t + 3'000, "backward");
      range(t + 3'000, t + 4'000, "optimizer");
      launch(t + 200, {.start_ns = t + 10'000, .end_ns = t + 20'000});
      launch(t + 1'100, {.start_ns = t + 20'000, .end_ns = t + 50'000});
      for (std::int64_t bucket = 0; bucket < 2; ++bucket) {
        const std::int64_t call_ns = t + 1'500 + 500 * bucket;
        file.range({.start_ns = call_ns,
                    .end_ns = call_ns + 100,
                    .name = "ncclAllReduce",
                    .pid = pid,
                    .tid = pid,
                    .domain = 1,
                    .binary = Export::all_reduce(77, bucket == 0 ? 4000 : 8000)});
        launch(call_ns + 20, {.start_ns = t + 40'000 + 10'000 * bucket,
                              .end_ns = t + 50'000 + 10'000 * bucket,
                              .stream = 20,
                              .name = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)"});
      }
      launch(t + 3'100, {.start_ns = t + 60'000, .end_ns = t + 62'000});
    }
  }
  Imported imported(file.done(), true);
  EXPECT_EQ(imported.result().world_size, 2);
  EXPECT_EQ(imported.number("SELECT count(*) FROM step"), 2 * 5);
  EXPECT_EQ(imported.number("SELECT parameter_bytes FROM measurement"), 12'000);
  EXPECT_EQ(imported.number("SELECT count(*) FROM collective"), 2 * 5 * 2);
  EXPECT_EQ(imported.number("SELECT min(bytes) FROM collective"), 4000);
  // The second bucket is exposed: the first runs beside the backward's kernel.
  EXPECT_EQ(imported.number("SELECT min(communication_ns - overlapped_ns) FROM device_time WHERE name <> 'all'"),
            10'000);
}

}  // namespace
}  // namespace ddpprof::import::nsight_test
