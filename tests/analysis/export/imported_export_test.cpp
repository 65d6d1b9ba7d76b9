// The Chrome export of raw events as imports write them, and that it can be imported again.
#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "analysis/export/export.hpp"
#include "analysis/import/load/import.hpp"
#include "tests/analysis/report/synthetic_run.hpp"

namespace ddpprof {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::int64_t t = 1'700'000'000'000'000'000;  // like an import's clock, far from 0

std::int64_t ns(const json& microseconds) { return std::llround(microseconds.get<double>() * 1000.0); }

class ImportedExport : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("ddpprof_imported_export_test_" + std::to_string(getpid()));
    fs::create_directories(folder_);
    test::SyntheticRun run(folder_ / "run.db");
    store::MeasurementRow row = test::train("ddp", 2);
    row.device = "cuda";
    row.backend = "nccl";
    const std::int64_t measurement = run.measurement(row);
    for (std::int64_t rank = 0; rank < 2; ++rank) fill(run, run.shard(measurement, rank), rank);
    run.database.sql().exec("UPDATE shard SET raw_kept = 1, host = ''");
    database_.emplace(std::move(run.database));
    export_::export_chrome(*database_, folder_ / "trace.json");
    std::ifstream in(folder_ / "trace.json", std::ios::binary);
    document_ = json::parse(in);
  }
  void TearDown() override { fs::remove_all(folder_); }

  // A step of 120 ms from t on, one all-reduce, and these ranges of thread 7, in this order: a leaf, its caller, the
  // step's annotation, a range that starts with the annotation, one that crosses its end, and one inside the latter.
  static void fill(test::SyntheticRun& run, std::int64_t shard, std::int64_t rank) {
    const std::int64_t step = run.step(shard, 0, t, 120 * test::ms, test::ms, test::ms, 0, 0);
    run.collective(shard, step, 0, 0, 4096, t + 500'000, t + 600'000 + 100 * rank, t + 700'000, 100'000 - 100 * rank);
    store::StringInterner strings(run.database);
    const std::int64_t operation = strings.intern("operation"), annotation = strings.intern("annotation");
    store::Inserter<store::RangeRow> ranges(run.database);
    const auto range = [&](const char* name, std::int64_t domain, std::int64_t from, std::int64_t to) {
      ranges.insert({shard, 7, strings.intern(name), domain, store::RangeKind::push_pop, -1, t + from, t + to, {}});
    };
    range("leaf", operation, 101'001, 102'003);
    range("caller", operation, 100'000, 200'000);
    range("ProfilerStep#0", annotation, 0, 120'000'000);
    range("first", operation, 0, 50'000);
    range("crossing", operation, 119'900'000, 120'100'000);
    range("in crossing", operation, 120'050'000, 120'060'000);
    store::Inserter<store::ApiCallRow> calls(run.database);
    calls.insert({shard, "driver", 0, 7, 1, t + 101'200, t + 101'400, strings.intern("cuLaunchKernel")});
    calls.insert({shard, "runtime", 211, 7, 1, t + 101'100, t + 101'500, strings.intern("cudaLaunchKernel")});
    calls.insert({shard, "runtime", 165, 7, 2, t + 150'000, t + 160'000});
    store::Inserter<store::KernelRow> kernels(run.database);
    const std::int64_t add = strings.intern("void add<float>(float*)");
    kernels.insert({shard, add, 0, 7, 1, t + 110'000, t + 120'000, 1, 1, 1, 0});
    kernels.insert({shard, add, 0, 7, 2, t + 115'000, t + 125'000, 1, 1, 1, 0});  // at the same time as the one before
  }

  std::vector<json> slices(int pid, const std::string& category) const {
    std::vector<json> out;
    for (const json& event : document_["traceEvents"])
      if (event["ph"] == "X" && event["pid"] == pid && event["cat"] == category) out.push_back(event);
    return out;
  }
  std::string track_name(const json& slice) const {
    for (const json& event : document_["traceEvents"])
      if (event["ph"] == "M" && event["name"] == "thread_name" && event["pid"] == slice["pid"] &&
          event["tid"] == slice["tid"])
        return event["args"]["name"];
    return "";
  }

  fs::path folder_;
  std::optional<store::Database> database_;
  json document_;
};

TEST_F(ImportedExport, EverySliceLiesWithinTheSliceAroundIt) {
  std::map<std::pair<int, int>, std::vector<std::pair<std::int64_t, std::int64_t>>> open;
  int seen = 0;
  for (const json& event : document_["traceEvents"]) {
    if (event["ph"] != "X") continue;
    auto& around = open[{event["pid"], event["tid"]}];
    const std::int64_t start = ns(event["ts"]), end = start + ns(event["dur"]);
    while (!around.empty() && around.back().second <= start) around.pop_back();
    if (!around.empty()) {
      EXPECT_GE(start, around.back().first) << event;
      EXPECT_LE(end, around.back().second) << event;
    }
    around.emplace_back(start, end);
    ++seen;
  }
  EXPECT_EQ(seen, 2 * (1 + 4 + 1 + 6 + 3 + 2)) << "steps, phases, collectives, ranges, calls, kernels";
}

TEST_F(ImportedExport, RangesAreInTheOrderOfTheirNestingAndWhatCrossesIsOnATrackOfItsOwn) {
  std::vector<std::pair<std::string, std::string>> found;  // track, name
  for (const json& event : document_["traceEvents"])
    if (event["ph"] == "X" && event["pid"] == 1 && (event["cat"] == "cpu_op" || event["cat"] == "user_annotation"))
      found.emplace_back(track_name(event), event["name"]);
  const std::string own = "host thread 7", other = "host thread 7, crossing";
  EXPECT_EQ(found, (std::vector<std::pair<std::string, std::string>>{{own, "ProfilerStep#0"},
                                                                     {own, "first"},
                                                                     {own, "caller"},
                                                                     {own, "leaf"},
                                                                     {other, "crossing"},
                                                                     {other, "in crossing"}}));
}

TEST_F(ImportedExport, TimesAgreeWithTheStepsToTheNanosecond) {
  EXPECT_EQ(document_["baseTimeNanoseconds"], t);
  const json step = slices(2, "measured").at(0), annotation = slices(2, "user_annotation").at(0);
  EXPECT_EQ(ns(step["ts"]), ns(annotation["ts"]));
  EXPECT_EQ(ns(step["dur"]), ns(annotation["dur"]));
  for (const json& slice : slices(2, "cpu_op"))
    if (slice["name"] == "leaf") {
      EXPECT_EQ(ns(slice["ts"]), 101'001);
      EXPECT_EQ(ns(slice["dur"]), 1'002);
    }
}

TEST_F(ImportedExport, CallsHaveTheirNamesAndKernelsTheirStreams) {
  EXPECT_EQ(slices(1, "cuda_runtime").at(0)["name"], "cudaLaunchKernel");
  EXPECT_EQ(slices(1, "cuda_driver").at(0)["name"], "cuLaunchKernel");
  EXPECT_EQ(slices(1, "cuda_api").at(0)["name"], "runtime call 165");
  const std::vector<json> kernels = slices(1, "kernel");
  ASSERT_EQ(kernels.size(), 2U);
  EXPECT_EQ(kernels[0]["args"]["stream"], 7);
  EXPECT_EQ(track_name(kernels[0]), "GPU 0 stream 7");
  EXPECT_EQ(track_name(kernels[1]), "GPU 0 stream 7, crossing");
}

TEST_F(ImportedExport, AProcessIsARankAndAnArrowJoinsTheCollective) {
  std::map<int, std::string> names, labels;
  std::vector<std::pair<std::string, int>> arrow;
  for (const json& event : document_["traceEvents"]) {
    if (event["name"] == "process_name") names[event["pid"]] = event["args"]["name"];
    if (event["name"] == "process_labels") labels[event["pid"]] = event["args"]["labels"];
    if (event.value("cat", "") == "flow") arrow.emplace_back(event["ph"], event["pid"]);
  }
  EXPECT_EQ(names, (std::map<int, std::string>{{1, "ddp N=2 rank 0"}, {2, "ddp N=2 rank 1"}}));
  EXPECT_EQ(labels[1], "pid 100") << "the host of an import may be unknown";
  EXPECT_EQ(arrow, (std::vector<std::pair<std::string, int>>{{"s", 1}, {"f", 2}}));
}

// The database is the file to exchange. An exported trace holds all ranks, which an import must not mix.
TEST_F(ImportedExport, AnExportOfSeveralRanksIsNotImportedAsOne) {
  store::Database again = store::Database::create(folder_ / "again.db", store::Replace::yes);
  import::ImportOptions options;
  options.files = {folder_ / "trace.json"};
  options.temporary_folder = folder_;
  std::string message;
  try {
    import::import_traces(again, options);
  } catch (const std::exception& error) {
    message = error.what();
  }
  EXPECT_NE(message.find("it has several ranks"), std::string::npos) << message;
}

}  // namespace
}  // namespace ddpprof
