// Traces of FSDP2, FSDP1 and ZeRO-3 jobs that ran with two ranks on CPUs over Gloo (record_sharded.py, torch 2.11).
// Expected sizes follow from the shapes of the model's parameters (facts.json); expected times are sums over the
// trace's own events.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/fit/sharded/sharded_job.hpp"
#include "analysis/fit/sharded/sharded_units.hpp"
#include "analysis/import/bytes/byte_source.hpp"
#include "analysis/report/report.hpp"
#include "tests/analysis/import/load/imported.hpp"

namespace ddpprof::import {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class ShardedJob : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const fs::path data = fs::path(SHARDED_FOLDER) / GetParam();
    std::ifstream(data / "facts.json") >> facts_;
    ImportOptions options;
    for (std::int64_t rank = 0; rank < facts_["ranks"].get<std::int64_t>() * replicas(); ++rank)
      options.files.push_back(data / ("rank" + std::to_string(rank) + ".json.gz"));
    imported_ = import_into(database_, options);
    ASSERT_EQ(imported_.error, "");
    database_.finish_load();
    units_ = fit::sharded_units(database_.sql(), std::vector<std::int64_t>{1});
  }

  std::int64_t one(const std::string& sql) const { return database_.sql().execAndGet(sql).getInt64(); }
  std::int64_t accumulation() const { return facts_["case"]["accumulation"]; }
  std::int64_t replicas() const { return facts_["case"].value("replicas", 1); }

  Folder folder_;
  mutable store::Database database_ = store::Database::create(folder_.path() / "a.db");
  json facts_;
  Imported imported_;
  std::vector<fit::UnitTimes> units_;
};

class NamedUnits : public ShardedJob {};  // of FSDP2: its annotations name the units

TEST_P(ShardedJob, BytesOfEachUnitAreThoseOfItsParameters) {
  std::map<std::string, const fit::UnitTimes*> by_name;
  for (const fit::UnitTimes& unit : units_) by_name[unit.name] = &unit;
  std::size_t sharded = 0;
  for (const fit::UnitTimes& unit : units_) sharded += unit.gathered_bytes > 0 ? 1 : 0;
  EXPECT_EQ(sharded, facts_["units"].size());
  const bool half = facts_["case"]["precision"] == "bf16";
  for (const json& expected : facts_["units"]) {
    const std::string name = expected["name"];
    ASSERT_TRUE(by_name.contains(name)) << name;
    const fit::UnitTimes& unit = *by_name[name];
    if (expected["parameters"].is_null())
      EXPECT_EQ(unit.parameters, std::nullopt) << name;
    else
      EXPECT_EQ(unit.parameters, expected["parameters"].get<std::int64_t>()) << name;
    EXPECT_EQ(unit.gathered_bytes, expected["gathered_bytes"].get<std::int64_t>()) << name;
    EXPECT_EQ(unit.scattered_bytes, expected["scattered_bytes"].get<std::int64_t>()) << name;
    EXPECT_EQ(unit.gathered_element_bytes, half ? 2 : 4) << name;
    EXPECT_EQ(unit.scattered_element_bytes, 4) << name;
    EXPECT_EQ(unit.ranks, facts_["ranks"].get<std::int64_t>()) << name;
    EXPECT_EQ(unit.gathers_again, expected["gathers_again"].get<bool>()) << name;
    EXPECT_TRUE(unit.scatters_by_all_reduce) << "Gloo has no other reduce-scatter";
    EXPECT_EQ(unit.root, name.empty());
    // Gathered in each forward, and again in each backward; scattered once a step, in the last backward. A unit that
    // does not gather again keeps its parameters until the backward that scatters has ended.
    const std::int64_t forwards = accumulation();
    const std::int64_t gathers = expected["gathers_again"] ? 2 * forwards : forwards;
    EXPECT_EQ(unit.gathers.calls, static_cast<double>(gathers)) << name;
    EXPECT_EQ(unit.gathers.bytes, gathers * unit.gathered_bytes) << name;
    EXPECT_EQ(unit.scatters.calls, 1) << name;
    EXPECT_EQ(unit.scatters.bytes, unit.scattered_bytes) << name;
    // Each rank reduces its part of the gradients over the replicas of the shards.
    EXPECT_EQ(unit.replicas.calls, replicas() > 1 ? 1 : 0) << name;
    EXPECT_EQ(unit.replicas.bytes, replicas() > 1 ? unit.scattered_bytes / *unit.ranks : 0) << name;
    EXPECT_GT(unit.forward_s, 0) << name;
    EXPECT_GT(unit.backward_s, 0) << name;
    EXPECT_GT(unit.copy_s, 0) << name;
  }
}

TEST_P(ShardedJob, UnitsAreInOrderOfTheirForward) {
  std::vector<std::string> names, expected;
  for (const fit::UnitTimes& unit : units_) names.push_back(unit.name);
  expected.emplace_back();  // the root begins
  for (const json& unit : facts_["units"])
    if (unit["name"] != "") expected.push_back(unit["name"]);
  EXPECT_EQ(names, expected);
}

// The complete events of one rank's file.
struct TraceEvent {
  std::string name;
  std::int64_t tid = 0;
  double start_ns = 0, end_ns = 0;
};

std::vector<TraceEvent> events_of(const std::string& job, std::int64_t rank) {
  std::string text;
  const auto source = open_bytes(fs::path(SHARDED_FOLDER) / job / ("rank" + std::to_string(rank) + ".json.gz"));
  std::vector<std::byte> buffer(1 << 16);
  while (const std::size_t size = source->read(buffer)) text.append(reinterpret_cast<const char*>(buffer.data()), size);
  const json trace = json::parse(text);
  std::vector<TraceEvent> events;
  for (const json& event : trace["traceEvents"]) {
    if (event.value("ph", "") != "X" || !event["tid"].is_number()) continue;
    const double start_ns = event["ts"].get<double>() * 1000;
    events.push_back({event["name"], event["tid"], start_ns, start_ns + event["dur"].get<double>() * 1000});
  }
  return events;
}

// Expected for each rank: the sum and the number of Gloo's runs whose call lies inside of an annotation of the unit.
TEST_P(NamedUnits, DurationsAreThoseOfGloosRuns) {
  for (int rank = 0; rank < 2; ++rank) {
    std::vector<TraceEvent> gathers, scatters, gather_runs, scatter_runs;  // annotations of units; runs
    for (const TraceEvent& event : events_of(GetParam(), rank)) {
      if (event.name.starts_with("FSDP::all_gather (") || event.name == "FSDP::all_gather") gathers.push_back(event);
      if (event.name.starts_with("FSDP::post_backward_reduce")) scatters.push_back(event);
      if (event.name == "gloo:all_gather") gather_runs.push_back(event);
      if (event.name == "gloo:all_reduce") scatter_runs.push_back(event);
    }
    const auto sums_ns = [](const std::vector<TraceEvent>& annotations, const std::vector<TraceEvent>& runs) {
      std::map<std::string, double> sums;
      for (const TraceEvent& annotation : annotations) {
        const std::size_t open = annotation.name.find(" (");
        const std::string unit =
            open == std::string::npos ? "" : annotation.name.substr(open + 2, annotation.name.size() - open - 3);
        for (const TraceEvent& run : runs)
          if (run.start_ns >= annotation.start_ns && run.start_ns < annotation.end_ns)
            sums[unit] += run.end_ns - run.start_ns;
      }
      return sums;
    };
    const auto imported_ns = [&](const char* action) {
      std::map<std::string, double> sums;
      SQLite::Statement query(
          database_.sql(),
          "SELECT u.name, SUM(w.end_ns - w.start_ns), SUM(w.exposed_ns) FROM sharded_work w JOIN step "
          "st ON st.id = w.step_id JOIN shard sh ON sh.id = st.shard_id JOIN sharded_unit u ON u.unit "
          "= w.unit WHERE w.action = ? AND sh.rank = ? GROUP BY u.name");
      query.bind(1, action);
      query.bind(2, rank);
      while (query.executeStep()) {
        sums[query.getColumn(0).getString()] = query.getColumn(1).getDouble();
        EXPECT_LE(query.getColumn(2).getDouble(), query.getColumn(1).getDouble());
        EXPECT_GE(query.getColumn(2).getDouble(), 0);
      }
      return sums;
    };
    for (const auto& [annotations, runs, action] :
         {std::tuple(gathers, gather_runs, "all_gather"), std::tuple(scatters, scatter_runs, "reduce_scatter")}) {
      const auto expected = sums_ns(annotations, runs), found = imported_ns(action);
      EXPECT_EQ(expected.size(), facts_["units"].size());
      ASSERT_EQ(found.size(), expected.size()) << action;
      for (const auto& [unit, sum_ns] : expected) EXPECT_NEAR(found.at(unit), sum_ns, 100) << action << " " << unit;
    }
  }
}

// Exposed time of a step by other arithmetic: a sweep over the beginnings and ends of Gloo's runs and of the operations
// of other threads sums the time with a run and without an operation. The sum over units is the same, because no two
// runs of these jobs overlap.
TEST_P(ShardedJob, ExposedTimeIsThatOfTheTracesEvents) {
  double sum_ns = 0;
  for (std::int64_t rank = 0; rank < facts_["ranks"].get<std::int64_t>() * replicas(); ++rank) {
    const std::vector<TraceEvent> events = events_of(GetParam(), rank);
    std::set<std::int64_t> backend;
    for (const TraceEvent& event : events)
      if (event.name.starts_with("gloo:")) backend.insert(event.tid);
    std::multimap<double, std::pair<int, int>> changes;  // of the number of runs and of operations
    for (const TraceEvent& event : events) {
      const bool run = event.name.starts_with("gloo:");
      const bool operation =
          !backend.contains(event.tid) && (event.name.starts_with("aten::") || event.name.starts_with("fsdp::"));
      if (!run && !operation) continue;
      changes.insert({event.start_ns, {run ? 1 : 0, operation ? 1 : 0}});
      changes.insert({event.end_ns, {run ? -1 : 0, operation ? -1 : 0}});
    }
    std::vector<double> expected_ns;
    for (const TraceEvent& step : events) {
      if (!step.name.starts_with("ProfilerStep#")) continue;
      int runs = 0, operations = 0;
      double exposed_ns = 0, before_ns = 0;
      for (const auto& [time_ns, change] : changes) {
        const double from_ns = std::max(before_ns, step.start_ns), to_ns = std::min(time_ns, step.end_ns);
        if (runs > 0 && operations == 0) exposed_ns += std::max(0.0, to_ns - from_ns);
        before_ns = time_ns;
        runs += change.first;
        operations += change.second;
      }
      expected_ns.push_back(exposed_ns);
    }
    SQLite::Statement query(database_.sql(),
                            "SELECT st.exposed_ns, (SELECT SUM(w.exposed_ns) FROM sharded_work w WHERE w.step_id = "
                            "st.id) FROM step st JOIN shard sh ON sh.id = st.shard_id WHERE sh.rank = ? AND st.kind = "
                            "'measured' ORDER BY st.step");
    query.bind(1, rank);
    std::size_t step = 0;
    while (query.executeStep()) {
      ASSERT_LT(step, expected_ns.size());
      EXPECT_NEAR(query.getColumn(0).getDouble(), expected_ns[step], 0.001 * expected_ns[step]) << rank;
      EXPECT_NEAR(query.getColumn(1).getDouble(), expected_ns[step], 0.001 * expected_ns[step]) << rank;
      sum_ns += expected_ns[step++];
    }
    EXPECT_EQ(step, expected_ns.size());
  }
  EXPECT_GT(sum_ns, 0);
}

TEST_P(ShardedJob, TheReportShowsTheUnits) {
  const report::Report report = report::build_report(database_, "sharding");
  ASSERT_EQ(report.tables.size(), 3U);
  const report::Table& job = report.tables[0];
  ASSERT_EQ(job.rows.size(), 1U);
  std::int64_t gathered = 0, scattered = 0, parameters = 0;
  for (const json& unit : facts_["units"]) {
    gathered += unit["gathered_bytes"].get<std::int64_t>() * accumulation() * (unit["gathers_again"] ? 2 : 1);
    scattered += unit["scattered_bytes"].get<std::int64_t>();
    if (!unit["parameters"].is_null()) parameters += unit["parameters"].get<std::int64_t>();
  }
  const auto number = [&](const report::Table& table, std::size_t row, const char* column) {
    return std::get<std::int64_t>(report::cell_of(table, table.rows[row], column));
  };
  EXPECT_EQ(number(job, 0, "gathered_bytes_per_step"), gathered);
  EXPECT_EQ(number(job, 0, "scattered_bytes_per_step"), scattered);
  if (parameters > 0) {
    EXPECT_EQ(number(job, 0, "parameters"), parameters);
  }
  const report::Table& bytes = report.tables[1];
  ASSERT_EQ(bytes.rows.size(), facts_["units"].size());
  for (std::size_t row = 0; row < bytes.rows.size(); ++row)
    EXPECT_EQ(number(bytes, row, "shard_bytes") * 2, number(bytes, row, "gathered_bytes"));
}

TEST_P(ShardedJob, EveryCollectiveBelongsToAUnit) {
  EXPECT_EQ(imported_.told.count("sharded_unit_unknown"), 0U);
  EXPECT_EQ(one("SELECT COUNT(*) FROM sharded_work WHERE busy_ns IS NULL"),
            one("SELECT COUNT(*) FROM collective WHERE step_id IS NOT NULL"));
  EXPECT_EQ(
      one("SELECT COUNT(*) FROM sharded_work w JOIN step st ON st.id = w.step_id JOIN collective c ON c.shard_id = "
          "st.shard_id AND c.communicator = w.communicator AND c.sequence = w.sequence AND c.op = w.action AND "
          "c.bytes = w.bytes AND c.start_ns = st.start_ns + w.start_ns"),
      one("SELECT COUNT(*) FROM sharded_work WHERE busy_ns IS NULL"));
}

class WithoutAnnotations : public ShardedJob {};  // ZeRO-3 of DeepSpeed

TEST_P(WithoutAnnotations, BytesOfEachUnitAreThoseOfItsModulesParameters) {
  ASSERT_EQ(units_.size(), facts_["units"].size());
  const bool again = facts_["case"]["reshard_after_forward"];
  for (std::size_t i = 0; i < units_.size(); ++i) {
    const fit::UnitTimes& unit = units_[i];
    // The root is the last one of the facts.
    const json& expected = facts_["units"][i == 0 ? units_.size() - 1 : i - 1];
    EXPECT_EQ(unit.name, expected["name"].get<std::string>());
    EXPECT_EQ(unit.root, i == 0);
    EXPECT_EQ(unit.ranks, 2);
    if (unit.root) {
      EXPECT_EQ(unit.scattered_bytes, expected["scattered_bytes"].get<std::int64_t>());
      EXPECT_EQ(unit.scatters.calls, 1);
      EXPECT_EQ(unit.gathered_bytes, 0);
      continue;
    }
    EXPECT_EQ(unit.gathered_bytes, expected["gathered_bytes"].get<std::int64_t>()) << unit.name;
    EXPECT_EQ(unit.gathers.calls, again ? 2 : 1) << unit.name;
    EXPECT_EQ(unit.gathers.bytes, (again ? 2 : 1) * unit.gathered_bytes) << unit.name;
    EXPECT_EQ(unit.gathers_again, again) << unit.name;
    EXPECT_EQ(unit.scattered_bytes, 0) << unit.name;
  }
}

TEST_P(WithoutAnnotations, ItIsReportedAndNotPredicted) {
  EXPECT_EQ(one("SELECT COUNT(*) FROM measurement WHERE strategy = 'sharded'"), 1);
  EXPECT_TRUE(fit::sharded_job(database_.sql()).measured.empty());
  const report::Report report = report::build_report(database_, "sharding");
  EXPECT_EQ(report.tables.at(1).rows.size(), facts_["units"].size());
}

const auto name_of = [](const auto& info) { return std::string(info.param); };
INSTANTIATE_TEST_SUITE_P(Fsdp2, ShardedJob,
                         testing::Values("mlp", "mlp_kept", "transformer", "convolutions_bf16", "hsdp_mlp"), name_of);
INSTANTIATE_TEST_SUITE_P(Fsdp1, ShardedJob,
                         testing::Values("fsdp1_transformer", "fsdp1_mlp_kept", "fsdp1_convolutions"), name_of);
INSTANTIATE_TEST_SUITE_P(Zero3, WithoutAnnotations,
                         testing::Values("zero3_mlp", "zero3_transformer", "zero3_convolutions"), name_of);
INSTANTIATE_TEST_SUITE_P(Fsdp2, NamedUnits, testing::Values("mlp", "mlp_kept", "transformer", "convolutions_bf16"),
                         name_of);

}  // namespace
}  // namespace ddpprof::import
