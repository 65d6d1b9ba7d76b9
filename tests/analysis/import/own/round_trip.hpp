// A database to export and restore, and all that two databases must have in common.
#pragma once

#include <SQLiteCpp/Column.h>
#include <SQLiteCpp/Statement.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "analysis/export/export.hpp"
#include "analysis/import/load/import.hpp"
#include "analysis/import/own/restore.hpp"
#include "tests/analysis/report/synthetic_run.hpp"
#include "tracer/store/clock.hpp"

namespace ddpprof::test {

inline std::string bytes_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Raw events of every kind on shard 2, whose clock drifts, and on shard 3; names, payloads and times that are hard to
// carry: quotes, line breaks, bytes that are no UTF-8, numbers as text, infinities.
inline void add_raw_events(SyntheticRun& run) {
  SQLite::Database& db = run.database.sql();
  db.exec(
      "UPDATE shard SET raw_kept = 1, clock_drift_ppb = -12345.678, clock_at_ns = 900000000, clock_offset_ns = "
      "77 WHERE id = 2");
  db.exec("UPDATE shard SET raw_kept = 1, clock_drift_ppb = 4321.1 WHERE id = 3");
  store::StringInterner strings(run.database);
  const std::int64_t odd = strings.intern("say \"hi\"\r\n\xff\xc3"), inner = strings.intern("inner\nline");
  const std::int64_t operation = strings.intern("operation"), nvtx = strings.intern("nvtx");
  const std::int64_t unfinished = strings.intern("unfinished"), never = strings.intern("x never ended");
  const std::int64_t broken = strings.intern("dom\xfe"), empty = strings.intern(""), cat = strings.intern("cpu_op");
  const std::int64_t t = 1000 * ms;
  store::Inserter<store::RangeRow> ranges(run.database);
  const auto range = [&](std::int64_t name, std::optional<std::int64_t> domain, store::RangeKind kind,
                         std::int64_t depth, std::int64_t start, std::optional<std::int64_t> end,
                         store::PayloadColumn payload) {
    for (const std::int64_t shard : {2, 3})
      ranges.insert({shard, 77, name, domain, kind, depth, t + start, end ? t + *end : end, payload});
  };
  using enum store::RangeKind;
  using namespace std::string_view_literals;
  range(odd, {}, push_pop, 0, 1, 1001, std::int64_t{5});
  range(inner, operation, push_pop, 1, 100, 200, R"({"step":3,"bytes":[1,2.5,null,"a\"b"]})"sv);
  range(inner, nvtx, push_pop, 1, 210, 220, "5"sv);
  range(inner, cat, push_pop, 1, 230, 240, 5.0);
  range(inner, broken, push_pop, 1, 250, 260, R"({ "spaced" : 1 })"sv);
  range(empty, empty, push_pop, 1, 270, 280, "no \xff json\r\n"sv);
  range(inner, {}, push_pop, 1, 290, 300, ""sv);
  range(inner, {}, push_pop, 1, 301, 302, R"({"ddpprof":{"depth":7}})"sv);
  range(inner, {}, push_pop, 1, 303, 304, R"({"payload":5})"sv);
  range(inner, {}, push_pop, 1, 305, 306, "[1,2]"sv);
  range(inner, {}, push_pop, 1, 307, 308, "{}"sv);
  range(inner, {}, push_pop, 1, 309, 310, "null"sv);
  range(inner, {}, push_pop, 1, 311, 312, std::numeric_limits<double>::infinity());
  range(inner, {}, push_pop, 1, 313, 314, std::numeric_limits<std::int64_t>::min());
  range(inner, {}, push_pop, 1, 315, 316, 0.1);
  range(inner, {}, push_pop, 1, 317, 318, R"({"a":1,"a":2})"sv);
  range(inner, {}, push_pop, 1, 319, 320, "1e3"sv);
  range(inner, {}, start_end, 0, 150, 2000, R"({"k":"v"})"sv);
  range(inner, unfinished, start_end, 0, 160, {}, {});
  range(never, {}, push_pop, 0, 3000, {}, std::int64_t{-1});
  range(never, unfinished, mark, 0, 4000, 4000, 1.5);
  range(inner, {}, mark, 3, 4001, {}, "7.0"sv);
  // Where the drift makes one time of two: both are kept apart.
  store::ClockAlignment drifting;
  drifting.drift_ppb = -12345.678;
  drifting.at_ns = 900'000'000;
  drifting.offset_ns = 77;
  int ambiguous = 0;
  for (std::int64_t at = t + 5000; ambiguous < 3; ++at)
    if (store::to_reference_ns(drifting, at) == store::to_reference_ns(drifting, at + 1)) {
      ++ambiguous;
      ranges.insert({2, 78, inner, {}, push_pop, 0, at, at + 1, {}});
      ranges.insert({2, 78, inner, {}, push_pop, 0, at + 1, at + 1, {}});
    }
  for (std::int64_t i = 0; i < 3000; ++i)
    ranges.insert({2, 78, inner, {}, push_pop, 0, t + 40'000 * i + 7 * (i % 97), t + 40'000 * i + 700 + i, {}});
  store::Inserter<store::ThreadRow>(run.database).insert({2, 77, "main, the \"first\""});
  store::Inserter<store::KernelRow> kernels(run.database);
  store::Inserter<store::MemcpyRow> copies(run.database);
  store::Inserter<store::ApiCallRow> calls(run.database);
  for (const std::int64_t shard : {2, 3}) {
    kernels.insert({shard, inner, 0, 7, 1, t + 10, t + 20, 1024, 256, 32, 4096});
    kernels.insert({shard, odd, 0, 7, 2, t + 15, t + 25, 1, 1, 1, 0});
    kernels.insert({shard, odd, 0, 7, 2, t + 15, t + 25, 2, 1, 1, 0});  // the same moment
    copies.insert({shard, "host_to_device", 0, 7, 2, t + 15, t + 25, 4096});
    copies.insert({shard, "kernel", 1, 9, 3, t + 30, t + 30, 0});
    calls.insert({shard, "runtime", 211, 77, 1, t + 5, t + 9});
    calls.insert({shard, "driver", 0, 77, 1, t + 6, t + 8, strings.intern("cuLaunchKernel")});
    calls.insert({shard, "odd \xff", 3, 79, 4, t + 6, t + 8, strings.intern("api")});
    calls.insert({shard, "api", 4, 79, 5, t + 16, t + 18, strings.intern("runtime call 9")});
  }
}

// Rows of the tables that `fill` leaves empty, and values at the ends of their types.
inline void add_other_rows(SyntheticRun& run) {
  SQLite::Database& db = run.database.sql();
  db.exec("INSERT INTO meta VALUES ('format','ddpprof trace database'),('created_utc',''),('note',x'') ");
  db.exec("UPDATE meta SET value = 'with, comma; \"quotes\" and ' || char(13,10) || 'breaks ' WHERE key = 'note'");
  db.exec(
      "INSERT INTO host_condition VALUES (2,'node',2,123456789,8,0.5,NULL,1e-9,-0.25,9e999,2.4e9,0.1,1.0,0,"
      "9223372036854775807,NULL,NULL,-9223372036854775808)");
  db.exec("INSERT INTO memory VALUES (2,0,-1,NULL,1000),(2,0,0,5,10)");
  db.exec("INSERT INTO bucket VALUES (2,0,0,0,0),(2,1,0,0,0)");
  db.exec("INSERT INTO string VALUES (500, 'a kernel, as recorded')");
  db.exec("INSERT INTO device_time VALUES (2,'all',1,2,3,4,5,6,7,8,9,10)");
  db.exec("INSERT INTO kernel_summary VALUES (2,500,'compute',1,2,2,2)");
  db.exec(
      "INSERT INTO collective VALUES (2,NULL,9223372036854775807,0,'barrier',-1,0,NULL,1000000100,NULL,NULL,NULL,"
      "NULL,NULL,NULL,NULL,NULL),(2,NULL,5,1,'all_reduce',2,8,1000000050,1000000100,1000000160,NULL,NULL,NULL,"
      "'float32','RING','LL128',24),"
      "(2,NULL,5,2,'odd \xff',0,8,NULL,1000000100,NULL,1000000170,3,NULL,NULL,'odd \xfe','',-1)");
  db.exec(
      "UPDATE step SET loss = 2.5, learning_rate = 0.1, local_gradient_sqr = 6.25, gradient_sqr = 1e-9, data_wait_ns = "
      "11, host_to_device_ns = 12, buffers_ns = 13, forward_ns = 14, "
      "backward_ns = 15, optimizer_ns = 16, copy_ns = 17 WHERE id = 4");
  db.exec("UPDATE step SET loss = 9e999, local_gradient_sqr = 9e999, gradient_sqr = 0.0 WHERE id = 5");
  db.exec(
      "INSERT INTO phase VALUES (6,'load_batch',-2,-5000,9000,NULL),(6,'forward',0,0,900,0),(6,'forward',0,0,"
      "900,7)");
  db.exec("UPDATE scenario SET resolved = '' WHERE id = 1");
}

inline store::Database filled(const std::filesystem::path& file) {
  SyntheticRun run(file);
  run.fill();
  {
    store::BulkLoad load(run.database);
    add_raw_events(run);
    add_other_rows(run);
    load.commit();
  }
  run.database.finish_load();
  return std::move(run.database);
}

inline std::string shown(const SQLite::Column& value) {
  if (value.isNull()) return "NULL";
  if (value.isInteger()) return "i" + std::to_string(value.getInt64());
  if (value.isFloat()) {
    char text[40];
    std::snprintf(text, sizeof text, "r%a", value.getDouble());
    return text;
  }
  return (value.isBlob() ? "b:" : "t:") + value.getString();
}

// Every row of every table, types and all. Where no id orders the rows, so do their values, unless `in_order`.
inline std::map<std::string, std::vector<std::string>> contents(store::Database& database, bool in_order) {
  std::map<std::string, std::vector<std::string>> all;
  for (const store::Table& table : store::tables()) {
    std::vector<std::string>& rows = all[std::string(table.name)];
    SQLite::Statement query(database.sql(), "SELECT * FROM \"" + std::string(table.name) + "\" ORDER BY rowid");
    while (query.executeStep()) {
      std::string row;
      for (int i = 0; i < query.getColumnCount(); ++i) row += shown(query.getColumn(i)) + "|";
      rows.push_back(row);
    }
    if (!in_order) std::sort(rows.begin(), rows.end());
  }
  return all;
}

inline void expect_equal(store::Database& found, store::Database& expected, bool in_order) {
  const auto a = contents(found, in_order), b = contents(expected, in_order);
  for (const auto& [table, rows] : b) {
    const std::vector<std::string>& restored = a.at(table);
    EXPECT_EQ(restored.size(), rows.size()) << table;
    for (std::size_t i = 0; i < std::min(rows.size(), restored.size()); ++i)
      if (restored[i] != rows[i]) {
        ADD_FAILURE() << table << ", row " << i << ":\n  " << restored[i] << "\nexpected\n  " << rows[i];
        break;
      }
  }
}

class RoundTrip : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("ddpprof_round_trip_" + std::to_string(getpid()));
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  store::Database empty(const std::string& name = "restored.db") const {
    return store::Database::create(folder_ / name, store::Replace::yes);
  }

  // What becomes of an export and its import: each format's own.
  virtual void go_round(store::Database&) { FAIL() << "of no format"; }
  void go_round_imported(const char* trace) {
    const char* data = std::getenv("DDPPROF_DATA_DIR");
    if (!data || !std::filesystem::exists(std::filesystem::path(data) / "traces" / trace))
      GTEST_SKIP() << "no " << trace;
    store::Database database = empty("imported.db");
    import::ImportOptions options;
    options.files = {std::filesystem::path(data) / "traces" / trace};
    options.temporary_folder = folder_;
    import::import_traces(database, options);
    database.finish_load();
    go_round(database);
  }

  std::filesystem::path folder_;
};

}  // namespace ddpprof::test
