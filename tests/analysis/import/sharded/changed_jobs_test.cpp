// Recorded traces of FSDP jobs with changes, whose effect on units and strategy is known: the shape of other jobs.
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "analysis/fit/sharded/sharded_units.hpp"
#include "analysis/import/bytes/byte_source.hpp"
#include "tests/analysis/import/load/imported.hpp"

namespace ddpprof::import {
namespace {

using nlohmann::json;
using testing::HasSubstr;

const std::string fsdp1 = "FullyShardedDataParallel.";

json trace_of(const std::string& job, int rank) {
  std::string text;
  const auto source =
      open_bytes(std::filesystem::path(SHARDED_FOLDER) / job / ("rank" + std::to_string(rank) + ".json.gz"));
  std::vector<std::byte> buffer(1 << 16);
  while (const std::size_t size = source->read(buffer)) text.append(reinterpret_cast<const char*>(buffer.data()), size);
  return json::parse(text);
}

// The events whose name begins with one of these, inside of another event, by start.
std::vector<json> events_in(const json& trace, const json& around, const std::vector<std::string>& names) {
  std::vector<json> found;
  for (const json& event : trace["traceEvents"]) {
    if (event.value("ph", "") != "X") continue;
    const double at = event["ts"];
    if (at < around["ts"].get<double>() || at >= around["ts"].get<double>() + around["dur"].get<double>()) continue;
    const std::string name = event["name"];
    if (std::ranges::any_of(names, [&](const std::string& one) { return name.starts_with(one); }))
      found.push_back(event);
  }
  std::ranges::sort(found, {}, [](const json& event) { return event["ts"].get<double>(); });
  return found;
}

json all_time() { return {{"ts", 0.0}, {"dur", 1e30}}; }

struct Changed {
  Changed(const std::string& job, const std::function<void(json& trace, int rank)>& change) {
    std::vector<std::filesystem::path> files;
    for (int rank = 0; rank < 2; ++rank) {
      json trace = trace_of(job, rank);
      change(trace, rank);
      files.push_back(folder.write("rank" + std::to_string(rank) + ".json", trace.dump()));
    }
    imported = import_files(folder, files);
    EXPECT_EQ(imported.error, "");
    store::Database database = store::Database::open_read(folder.path() / "imported.db");
    units = fit::sharded_units(database.sql(), std::vector<std::int64_t>{1});
    strategy = database.sql().execAndGet("SELECT strategy FROM measurement").getString();
  }

  // Names of the units for which a rank has work.
  std::vector<std::string> names_of(int rank) const {
    store::Database database = store::Database::open_read(folder.path() / "imported.db");
    SQLite::Statement query(
        database.sql(),
        "SELECT DISTINCT u.name FROM sharded_work w JOIN step st ON st.id = w.step_id JOIN shard sh "
        "ON sh.id = st.shard_id JOIN sharded_unit u ON u.measurement_id = sh.measurement_id AND "
        "u.unit = w.unit WHERE sh.rank = ? ORDER BY u.name");
    query.bind(1, rank);
    std::vector<std::string> names;
    while (query.executeStep()) names.push_back(query.getColumn(0).getString());
    return names;
  }

  Folder folder;
  Imported imported;
  std::vector<fit::UnitTimes> units;
  std::string strategy;
};

void expect_same_collectives(const Changed& changed, const std::string& job) {
  const Changed recorded(job, [](json&, int) {});
  EXPECT_EQ(changed.strategy, "fsdp");
  ASSERT_EQ(changed.units.size(), recorded.units.size());
  for (std::size_t i = 0; i < recorded.units.size(); ++i) {
    const fit::UnitTimes &found = changed.units[i], &expected = recorded.units[i];
    EXPECT_EQ(found.name, expected.name);
    EXPECT_EQ(found.gathered_bytes, expected.gathered_bytes) << found.name;
    EXPECT_EQ(found.scattered_bytes, expected.scattered_bytes) << found.name;
    EXPECT_EQ(found.gathers.calls, expected.gathers.calls) << found.name;
    EXPECT_EQ(found.scatters.calls, expected.scatters.calls) << found.name;
  }
}

TEST(ChangedJobs, WithoutShapesTheCallsRemain) {
  const Changed changed("mlp", [](json& trace, int) {
    for (json& event : trace["traceEvents"])
      if (event.contains("args"))
        for (const char* key : {"Input Dims", "Input type", "Input Strides", "Concrete Inputs"})
          event["args"].erase(key);
  });
  ASSERT_EQ(changed.units.size(), 5U);
  for (const fit::UnitTimes& unit : changed.units) {
    EXPECT_EQ(unit.gathered_bytes, 0) << unit.name;
    if (!unit.root) {
      EXPECT_GT(unit.gathers.calls, 0) << unit.name;
    }
  }
}

// The second stage of a pipeline has the layers 4 to 7.
TEST(ChangedJobs, RanksWithOtherUnitsAreNotPredicted) {
  const Changed changed("mlp", [](json& trace, int rank) {
    if (rank == 0) return;
    for (json& event : trace["traceEvents"]) {
      if (!event.contains("name") || !event["name"].is_string()) continue;
      std::string name = event["name"];
      if (!name.starts_with("FSDP::")) continue;
      for (std::size_t i = 1; i < name.size(); ++i)
        if (name[i] >= '0' && name[i] <= '3' && (name[i - 1] == '(' || name[i - 1] == ' '))
          name[i] = static_cast<char>(name[i] + 4);
      event["name"] = name;
    }
  });
  EXPECT_EQ(changed.strategy, "sharded");
  ASSERT_EQ(changed.imported.told.count("sharded_units_differ"), 1U);
  EXPECT_THAT(changed.imported.told.find("sharded_units_differ")->second.message, HasSubstr("2 of 2 ranks do not have all 9 units"));
  EXPECT_EQ(changed.names_of(0), (std::vector<std::string>{"", "0", "1", "2", "3"}));
  EXPECT_EQ(changed.names_of(1), (std::vector<std::string>{"", "4", "5", "6", "7"}));
}

// Recording of rank 0 began in the middle of a forward.
TEST(ChangedJobs, UnitsAreNumberedInTheStepsThatWereRecordedAsAWhole) {
  const Changed changed("mlp", [](json& trace, int rank) {
    if (rank == 1) return;
    const double first = events_in(trace, all_time(), {"ProfilerStep#"}).front()["ts"];
    json event = events_in(trace, all_time(), {"FSDP::pre_forward (3)"}).front();
    event["ts"] = first - 10.0;
    event["dur"] = 5.0;
    trace["traceEvents"].push_back(event);
  });
  expect_same_collectives(changed, "mlp");
}

// Activation checkpointing around the wrapped unit: its forward runs again in the backward.
TEST(ChangedJobs, ARecomputedForwardOfFsdp1DoesNotCountUnits) {
  const Changed changed("fsdp1_mlp_kept", [](json& trace, int) {
    std::vector<json> added;
    for (const json& step : events_in(trace, all_time(), {"ProfilerStep#"})) {
      const std::vector<json> hooks = events_in(trace, step, {fsdp1 + "_pre_backward_hook"});
      ASSERT_GT(hooks.size(), 1U);
      for (std::size_t i = 1; i < hooks.size(); ++i) {
        double at = hooks[i]["ts"].get<double>() + hooks[i]["dur"].get<double>() + 0.1;
        for (const char* name : {"_root_pre_forward", "_pre_forward", "_post_forward"}) {
          json event = hooks[i];
          event["name"] = fsdp1 + name;
          event["ts"] = at;
          event["dur"] = 0.1;
          added.push_back(event);
          at += 0.2;
        }
      }
    }
    for (const json& event : added) trace["traceEvents"].push_back(event);
  });
  expect_same_collectives(changed, "fsdp1_mlp_kept");
}

// Two inputs go through one model before the backward.
TEST(ChangedJobs, ASecondForwardOfFsdp1HasTheSameUnits) {
  const Changed changed("fsdp1_mlp_kept", [](json& trace, int) {
    std::vector<json> added;
    for (const json& step : events_in(trace, all_time(), {"ProfilerStep#"})) {
      const std::vector<json> marks =
          events_in(trace, step, {fsdp1 + "_root_pre_forward", fsdp1 + "_pre_forward", fsdp1 + "_post_forward"});
      ASSERT_FALSE(marks.empty());
      const double first = marks.front()["ts"], start = step["ts"].get<double>() + 1.0;
      const double last = marks.back()["ts"].get<double>() + marks.back()["dur"].get<double>();
      const double scale = (first - 2.0 - start) / (last - first);
      for (json event : marks) {
        event["ts"] = start + (event["ts"].get<double>() - first) * scale;
        event["dur"] = event["dur"].get<double>() * scale;
        added.push_back(event);
      }
    }
    for (const json& event : added) trace["traceEvents"].push_back(event);
  });
  expect_same_collectives(changed, "fsdp1_mlp_kept");
}

}  // namespace
}  // namespace ddpprof::import
