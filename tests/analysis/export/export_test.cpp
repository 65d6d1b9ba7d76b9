// Exports of the synthetic run, read by parsers that are independent of the writer.
#include "analysis/export/export.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "analysis/export/chrome_writer.hpp"
#include "tests/analysis/report/synthetic_run.hpp"

namespace ddpprof {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::int64_t ns(const json& microseconds) { return std::llround(microseconds.get<double>() * 1000.0); }

class ExportTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / ("export_test_" + std::to_string(getpid()));
    fs::create_directories(folder_);
    test::SyntheticRun run(folder_ / "run.db");
    run.fill();
    add_raw(run);
    database_.emplace(std::move(run.database));
  }
  void TearDown() override { fs::remove_all(folder_); }

  // Rank 0 of ddp N = 2 (shard 2) keeps raw events: two nested ranges, one that overlaps them, one never closed, a
  // mark; a kernel and a copy on one stream, a CUDA call. The name has a quote, a line break and invalid
  // UTF-8.
  static void add_raw(test::SyntheticRun& run) {
    run.database.sql().exec("UPDATE shard SET raw_kept = 1 WHERE id = 2");
    store::StringInterner strings(run.database);
    const std::int64_t odd = strings.intern("say \"hi\"\n\xff");
    const std::int64_t inner = strings.intern("inner");
    store::Inserter<store::RangeRow> ranges(run.database);
    const std::int64_t t = 1000 * test::ms;
    ranges.insert({2, 77, odd, {}, store::RangeKind::push_pop, 0, t + 1, t + 1001, std::int64_t{5}});
    ranges.insert(
        {2, 77, inner, {}, store::RangeKind::push_pop, 1, t + 100, t + 200, std::string_view(R"({"step":3})")});
    ranges.insert({2, 77, inner, {}, store::RangeKind::start_end, 0, t + 150, t + 2000, {}});
    ranges.insert({2, 77, inner, {}, store::RangeKind::push_pop, 0, t + 3000, {}, {}});
    ranges.insert({2, 77, inner, {}, store::RangeKind::mark, 0, t + 4000, t + 4000, 1.5});
    store::Inserter<store::ThreadRow>(run.database).insert({2, 77, "main"});
    store::Inserter<store::KernelRow>(run.database).insert({2, inner, 0, 7, 1, t + 10, t + 20, 1, 1, 1, 0});
    store::Inserter<store::MemcpyRow>(run.database).insert({2, "host_to_device", 0, 7, 2, t + 20, t + 35, 4096});
    store::Inserter<store::ApiCallRow>(run.database).insert({2, "runtime", 211, 77, 1, t + 5, t + 9});
  }

  json chrome() {
    summary_ = export_::export_chrome(*database_, folder_ / "trace.json");
    return json::parse(read(folder_ / "trace.json"));
  }

  fs::path folder_;
  std::optional<store::Database> database_;
  export_::ChromeSummary summary_;
};

TEST_F(ExportTest, EverySliceOfATrackNestsAndTimeRunsForward) {
  const json document = chrome();
  std::map<std::pair<int, int>, std::vector<std::pair<std::int64_t, std::int64_t>>> tracks;
  for (const json& event : document["traceEvents"]) {
    if (event["ph"] != "M") {
      EXPECT_GE(event["ts"].get<double>(), 0.0) << event;
    }
    if (event["ph"] == "X") {
      EXPECT_GE(event["dur"].get<double>(), 0.0) << event;
      tracks[{event["pid"], event["tid"]}].emplace_back(ns(event["ts"]), ns(event["ts"]) + ns(event["dur"]));
    }
  }
  ASSERT_GE(tracks.size(), 10U);
  for (const auto& [track, slices] : tracks) {
    std::vector<std::int64_t> open;  // ends of the enclosing slices
    std::int64_t last = -1;
    for (const auto& [start, end] : slices) {
      EXPECT_GE(start, last) << "track " << track.first << "/" << track.second << " goes back in time";
      last = start;
      while (!open.empty() && open.back() <= start) open.pop_back();
      if (!open.empty()) {
        EXPECT_LE(end, open.back()) << "slices cross on track " << track.second;
      }
      open.push_back(end);
    }
  }
}

TEST_F(ExportTest, EveryTrackAndProcessHasAName) {
  const json document = chrome();
  std::map<int, std::string> processes;
  std::set<std::pair<int, int>> used, named;
  for (const json& event : document["traceEvents"]) {
    if (event["ph"] == "M") {
      if (event["name"] == "process_name") processes[event["pid"]] = event["args"]["name"];
      if (event["name"] == "thread_name") named.emplace(event["pid"].get<int>(), event["tid"].get<int>());
    } else {
      used.emplace(event["pid"].get<int>(), event["tid"].get<int>());
    }
  }
  for (const auto& track : used) EXPECT_TRUE(named.contains(track)) << track.first << "/" << track.second;
  EXPECT_EQ(processes[2], "ddp N=2 rank 0");  // pid = shard.id
  EXPECT_EQ(processes[3], "ddp N=2 rank 1");
  EXPECT_EQ(processes[4], "dp N=2 rank 0");
}

TEST_F(ExportTest, TimesAreExactOnRankZerosClock) {
  const json document = chrome();
  EXPECT_EQ(document["baseTimeNanoseconds"], 0);  // the first step of ddp N = 1
  std::map<int, std::int64_t> first_step;
  for (const json& event : document["traceEvents"]) {
    if (event["ph"] == "X" && event["tid"] == 1 && !first_step.contains(event["pid"])) {
      first_step[event["pid"]] = ns(event["ts"]);
    }
  }
  EXPECT_EQ(first_step[2], 1000 * test::ms);
  EXPECT_EQ(first_step[3], 1000 * test::ms + 5000);  // its clock is 5 µs behind rank 0's
}

TEST_F(ExportTest, OverlappingCollectivesGetTracksOfTheirOwnAndArrowsJoinTheRanks) {
  const json document = chrome();
  std::set<int> tracks;
  std::map<std::int64_t, std::vector<std::pair<std::string, std::int64_t>>> arrows;
  std::set<std::tuple<int, int, std::int64_t>> starts;
  for (const json& event : document["traceEvents"]) {
    if (event.value("cat", "") == "collective") {
      tracks.insert(event["tid"].get<int>());
      starts.insert({event["pid"], event["tid"], ns(event["ts"])});
      EXPECT_EQ(event["args"]["communicator"], "0xfffffffffffffff9");  // -7 as hashed
    }
  }
  EXPECT_EQ(tracks, (std::set<int>{10, 11}));
  for (const json& event : document["traceEvents"]) {
    if (event.value("cat", "") != "flow") continue;
    arrows[event["id"]].emplace_back(event["ph"], ns(event["ts"]));
    EXPECT_TRUE(starts.contains({event["pid"], event["tid"], ns(event["ts"])})) << "an arrow that ends on no slice";
  }
  ASSERT_EQ(arrows.size(), 8U);  // 4 steps × 2 buckets
  for (auto& [id, ends] : arrows) {
    std::sort(ends.begin(), ends.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    ASSERT_EQ(ends.size(), 2U);  // ranks 0 and 1, the earlier first
    EXPECT_EQ(ends[0].first, "s");
    EXPECT_EQ(ends[1].first, "f");
  }
}

// Arrows show which rank was earlier. For a clock that is not aligned with rank 0's, this is unknown.
TEST_F(ExportTest, NoArrowLeadsToARankWhoseClockIsUnknown) {
  database_->sql().exec("UPDATE shard SET clock_reference = 'unknown' WHERE measurement_id = 2 AND rank = 1");
  const json document = chrome();
  for (const json& event : document["traceEvents"]) EXPECT_NE(event.value("cat", ""), "flow");
}

TEST_F(ExportTest, GradientsReplicasAndRawEventsAreThere) {
  const json document = chrome();
  std::map<std::string, int> categories;
  std::map<std::string, int> balance;
  std::set<int> replica_tracks;
  for (const json& event : document["traceEvents"]) {
    if (event.contains("cat")) ++categories[event["cat"]];
    if (event["ph"] == "b") ++balance[event["id"]];
    if (event["ph"] == "e") --balance[event["id"]];
    if (event.value("name", "") == "replica_forward") replica_tracks.insert(event["tid"].get<int>());
    if (event.value("cat", "") == "grad_ready") {
      EXPECT_EQ(event["name"], "fc1.weight");
    }
  }
  EXPECT_EQ(categories["grad_ready"], 8);  // 4 steps, 2 ranks
  EXPECT_EQ(categories["kernel"], 1);
  EXPECT_EQ(categories["memcpy"], 1);
  EXPECT_EQ(categories["cuda_api"], 1);
  EXPECT_EQ(replica_tracks, (std::set<int>{1000, 1001}));
  EXPECT_EQ(summary_.unfinished, 1);
  EXPECT_EQ(categories["unfinished"], 1);
  ASSERT_EQ(balance.size(), 1U);
  for (const auto& [id, open] : balance) EXPECT_EQ(open, 0);
}

TEST_F(ExportTest, TheSameDatabaseGivesTheSameBytes) {
  chrome();
  const std::string once = read(folder_ / "trace.json");
  chrome();
  EXPECT_EQ(once, read(folder_ / "trace.json"));
  for (const auto& entry : fs::directory_iterator(folder_))
    EXPECT_EQ(entry.path().string().find(".partial"), std::string::npos) << entry.path();
}

TEST_F(ExportTest, AFolderThatIsNotThereIsSaid) {
  try {
    export_::export_chrome(*database_, folder_ / "missing" / "trace.json");
    FAIL();
  } catch (const export_::ExportError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("No such file or directory"));
  }
}

TEST_F(ExportTest, AFullDiskIsAnError) {
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit little = before;
  little.rlim_cur = 4096;  // limits the file size, as if the disk were full
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &little), 0);
  EXPECT_THROW(export_::export_chrome(*database_, folder_ / "full.json"), export_::ExportError);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, SIG_DFL);
  for (const auto& entry : fs::directory_iterator(folder_))
    EXPECT_FALSE(entry.path().filename().string().starts_with("full.json")) << entry.path();
}

// The heads of some tables are longer than 512 bytes, those of others are not.
TEST_F(ExportTest, AFullDiskLeavesNoFolderWithSomeOfTheTables) {
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit little = before;
  little.rlim_cur = 512;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &little), 0);
  EXPECT_THROW(export_::export_csv(*database_, folder_ / "tables"), export_::ExportError);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, SIG_DFL);
  EXPECT_FALSE(fs::exists(folder_ / "tables"));
}

TEST(Microseconds, KeepEveryNanosecond) {
  EXPECT_EQ(export_::microseconds(0), "0.000");
  EXPECT_EQ(export_::microseconds(1), "0.001");
  EXPECT_EQ(export_::microseconds(12'345'678'901), "12345678.901");
  EXPECT_EQ(export_::microseconds(-1'005), "-1.005");
  EXPECT_EQ(export_::microseconds(std::numeric_limits<std::int64_t>::min()), "-9223372036854775.808");
}

// A reader of RFC 4180 written for the test: records of fields, quotes undone.
std::vector<std::vector<std::string>> parse_csv(const std::string& text) {
  std::vector<std::vector<std::string>> records;
  std::vector<std::string> record(1);
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '"' && i + 1 < text.size() && text[i + 1] == '"') {
        record.back() += text[++i];
      } else if (c == '"') {
        quoted = false;
      } else {
        record.back() += c;
      }
    } else if (c == '"') {
      quoted = true;
    } else if (c == ',') {
      record.emplace_back();
    } else if (c == '\r' && i + 1 < text.size() && text[i + 1] == '\n') {
      ++i;
      records.push_back(std::move(record));
      record.assign(1, "");
    } else {
      record.back() += c;
    }
  }
  EXPECT_FALSE(quoted);
  return records;
}

TEST_F(ExportTest, APayloadThatNestsDeeperThan64LevelsIsText) {
  store::StringInterner strings(*database_);
  const std::int64_t name = strings.intern("deep");
  const auto nested = [](const std::string& open, const std::string& close, int depth) {
    std::string text;
    for (int i = 0; i < depth; ++i) text += open;
    text += "1";
    for (int i = 0; i < depth; ++i) text += close;
    return text;
  };
  {
    store::Inserter<store::RangeRow> ranges(*database_);
    std::int64_t at = 2000 * test::ms;
    for (const int depth : {1, 63, 64, 65, 1023, 1024, 50'000})
      for (const std::string& payload :
           {nested("[", "]", depth), nested("{\"a\":", "}", depth), nested("[", "", depth)}) {
        ranges.insert({2, 77, name, {}, store::RangeKind::push_pop, 0, at, at + 1, std::string_view(payload)});
        at += 10;
      }
  }
  export_::export_chrome(*database_, folder_ / "deep.json");
  const std::string text = read(folder_ / "deep.json");
  EXPECT_NE(text.find("\"args\":{\"payload\":" + nested("[", "]", 64)), std::string::npos);
  EXPECT_NE(text.find("\"args\":{\"payload\":\"" + nested("[", "]", 65)), std::string::npos);
}

TEST_F(ExportTest, CsvHasEveryTableAndEveryRow) {
  const std::int64_t rows = export_::export_csv(*database_, folder_ / "csv");
  std::int64_t read_back = 0;
  for (const store::Table& table : store::tables()) {
    const auto records = parse_csv(read(folder_ / "csv" / (std::string(table.name) + ".csv")));
    ASSERT_GE(records.size(), 1U) << table.name;
    for (const auto& record : records) EXPECT_EQ(record.size(), table.columns.size()) << table.name;
    read_back += static_cast<std::int64_t>(records.size()) - 1;
  }
  EXPECT_EQ(rows, read_back);
  EXPECT_GT(rows, 100);
}

TEST_F(ExportTest, CsvNamesUnitsAndKeepsTextAsItIs) {
  export_::export_csv(*database_, folder_ / "csv");
  const auto predictions = parse_csv(read(folder_ / "csv" / "prediction.csv"));
  EXPECT_THAT(predictions[0], testing::IsSupersetOf({"step_s", "throughput_samples_per_s", "world_size_workers"}));
  const auto steps = parse_csv(read(folder_ / "csv" / "step.csv"));
  EXPECT_THAT(steps[0], testing::IsSupersetOf({"duration_ns", "samples", "loss"}));
  const auto strings = parse_csv(read(folder_ / "csv" / "string.csv"));
  EXPECT_EQ(strings[1][1], "say \"hi\"\n\xff");
  EXPECT_THAT(read(folder_ / "csv" / "measurement.csv"), testing::HasSubstr(R"("{""ddpprof"":""0.1.0"")"));
}

}  // namespace
}  // namespace ddpprof
