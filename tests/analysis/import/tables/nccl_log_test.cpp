// Logs of nccl-tests in a database: ranks, times, and logs that must be rejected.
#include <SQLiteCpp/Statement.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "analysis/import/tables/tables.hpp"
#include "analysis/predict/predict.hpp"
#include "analysis/predict/predictor.hpp"
#include "tests/analysis/import/tables/table_folder.hpp"
#include "tests/analysis/report/synthetic_run.hpp"

namespace ddpprof::import {
namespace {

using testing::HasSubstr;

constexpr const char* ranks_of_two =
    "#  Rank  0 Group  0 Pid  1 on  node-a device  0 [0x10] NVIDIA A100\n"
    "#  Rank  1 Group  0 Pid  2 on  node-b device  0 [0x10] NVIDIA A100\n";

// Output of all_reduce_perf for a link of `busbw` GB/s bus bandwidth and 20 µs latency.
std::string lines(std::int64_t ranks, double busbw, double factor = 0.0) {
  const double ring = 2.0 * static_cast<double>(ranks - 1) / static_cast<double>(ranks);
  std::string text = "#       size         count      type   redop    root     time   algbw   busbw #wrong\n";
  for (std::int64_t bytes = 1024; bytes <= std::int64_t{1} << 30; bytes *= 4) {
    const double time_us = 20.0 + static_cast<double>(bytes) * ring / busbw * 1e-3;
    const double algbw = static_cast<double>(bytes) / time_us * 1e-3;
    text += fmt::format("{:12} {:12} float sum -1 {:9.2f} {:7.2f} {:7.2f} 0 {:9.2f} {:7.2f} {:7.2f} 0\n", bytes,
                        bytes / 4, time_us, algbw, algbw * (factor > 0.0 ? factor : ring), time_us * 1.25, algbw / 1.25,
                        algbw / 1.25 * ring);
  }
  return text;
}

class NcclLog : public test::TableFolder {
 protected:
  fit::NcclTestsRun read(const std::string& text) const { return fit::read_nccl_tests(write("log.txt", text)).at(0); }
  // Returns the number of ranks of the first sweep.
  std::int64_t import_log(store::Database& database, const std::string& text, std::optional<std::int64_t> ranks = {},
                          const LogPlace& place = {}) const {
    const fit::AllReduceLog log = fit::read_all_reduces(write("log.txt", text), ranks);
    import_nccl_log(database, log, "log.txt", place);
    return log.runs.at(0).ranks;
  }
  std::string refusal(const std::string& text, std::optional<std::int64_t> ranks = {},
                      const LogPlace& place = {}) const {
    store::Database database = make_database();
    try {
      import_log(database, text, ranks, place);
    } catch (const std::runtime_error& error) {
      SQLite::Statement rows(database.sql(), "SELECT count(*) FROM measurement");
      rows.executeStep();
      EXPECT_EQ(rows.getColumn(0).getInt(), 0) << "part of a log is in the database";
      return error.what();
    }
    return "";
  }
};

TEST_F(NcclLog, RanksAreToldByTheBandwidths) {
  for (const std::int64_t ranks : {3, 4, 8, 16, 32}) EXPECT_EQ(fit::ranks_of(read(lines(ranks, 200.0))), ranks);
  EXPECT_EQ(fit::ranks_of(read(lines(1024, 10.0))), std::nullopt) << "1023 and 1025 print the same decimals";
  EXPECT_EQ(fit::ranks_of(read(lines(8, 10.0, 1.0))), std::nullopt) << "a reduce prints busbw = algbw";
  EXPECT_EQ(fit::ranks_of(read(lines(8, 10.0, 7.0 / 8.0))), std::nullopt) << "a reduce-scatter";
  EXPECT_EQ(fit::ranks_of(read(lines(8, 0.5))), std::nullopt) << "bandwidths below 1 GB/s have too few decimals";
  EXPECT_EQ(fit::ranks_of(read(ranks_of_two + lines(2, 10.0))), 2) << "given by its lines";
}

TEST_F(NcclLog, BothTimesOfEachSizeAreKept) {
  store::Database database = make_database();
  EXPECT_EQ(import_log(database, ranks_of_two + lines(2, 10.0)), 2);
  SQLite::Statement query(database.sql(),
                          "SELECT m.kind, m.world_size, m.nodes, m.backend, c.bytes, c.iteration, c.duration_ns "
                          "FROM comm_point c JOIN shard s ON s.id = c.shard_id JOIN measurement m ON m.id = "
                          "s.measurement_id ORDER BY c.bytes, c.iteration LIMIT 2");
  ASSERT_TRUE(query.executeStep());
  EXPECT_EQ(query.getColumn(0).getString(), "bench-comm");
  EXPECT_EQ(query.getColumn(1).getInt(), 2);
  EXPECT_EQ(query.getColumn(2).getInt(), 2) << "node-a and node-b";
  EXPECT_EQ(query.getColumn(3).getString(), "nccl");
  EXPECT_EQ(query.getColumn(4).getInt64(), 1024);
  EXPECT_EQ(query.getColumn(5).getInt(), 0);
  EXPECT_EQ(query.getColumn(6).getInt64(), 20'100) << "20.10 us as printed";
  ASSERT_TRUE(query.executeStep());
  EXPECT_EQ(query.getColumn(5).getInt(), 1) << "in place";
  EXPECT_EQ(query.getColumn(6).getInt64(), 25'130);
}

TEST_F(NcclLog, ASizeThatWasTimedTwiceIsThereTwice) {
  store::Database database = make_database();
  import_log(database, ranks_of_two + lines(2, 10.0) + lines(2, 11.0));
  SQLite::Statement query(database.sql(), "SELECT group_concat(iteration) FROM comm_point WHERE bytes = 1024");
  ASSERT_TRUE(query.executeStep());
  EXPECT_EQ(query.getColumn(0).getString(), "0,1,2,3");
}

TEST_F(NcclLog, WhatIsMissingIsAskedFor) {
  EXPECT_THAT(refusal(lines(2, 10.0)), HasSubstr("the number of ranks is unknown"));
  EXPECT_EQ(refusal(lines(2, 10.0), 2), "");
}

// Above the GPUs of a usual host.
TEST_F(NcclLog, HostsThatAreNeitherNamedNorGivenAreAWarning) {
  const auto warnings = [&](std::int64_t ranks, const LogPlace& place) {
    store::Database database = make_database();
    import_log(database, lines(ranks, 10.0), {}, place);
    SQLite::Statement rows(database.sql(), "SELECT count(*) FROM diagnostic WHERE code = 'hosts_unknown'");
    rows.executeStep();
    return rows.getColumn(0).getInt();
  };
  EXPECT_EQ(warnings(16, {}), 1);
  EXPECT_EQ(warnings(16, {2}), 0);
  EXPECT_EQ(warnings(16, {1}), 0);
  EXPECT_EQ(warnings(8, {}), 0);
}

TEST_F(NcclLog, WhatIsNoAllReduceIsRefused) {
  EXPECT_THAT(refusal(lines(8, 10.0, 7.0 / 8.0), 8), HasSubstr("busbw is not 2 (N-1)/N times algbw"));
  EXPECT_THAT(refusal("# Rank 0 Group 0 Pid 1 on a device 0\n" + lines(8, 10.0)), HasSubstr("of one rank"));
  EXPECT_THAT(refusal(lines(4, 10.0), {}, {5}), HasSubstr("4 ranks cannot be on 5 hosts"));
}

TEST_F(NcclLog, WhatContradictsTheLogIsSaid) {
  EXPECT_THAT(refusal(lines(4, 10.0), 8),
              HasSubstr("--log-ranks 8 contradicts the log's bandwidths, which are those of 4"));
  EXPECT_THAT(refusal("# Collective test starting: all_reduce_perf\n" + lines(2, 10.0), 8),
              HasSubstr("--log-ranks 8 contradicts the log's bandwidths"));
  EXPECT_THAT(refusal(ranks_of_two + lines(2, 10.0), 8), HasSubstr("name 2 ranks, but --log-ranks is 8"));
  store::Database database = make_database();
  import_log(database, ranks_of_two + lines(2, 10.0), 2, {4});
  SQLite::Statement query(database.sql(), "SELECT message FROM diagnostic WHERE code = 'log_hosts'");
  ASSERT_TRUE(query.executeStep());
  EXPECT_THAT(query.getColumn(0).getString(), HasSubstr("names 2 hosts"));
}

TEST_F(NcclLog, ThatRanksWereDerivedIsSaid) {
  store::Database database = make_database();
  import_log(database, lines(8, 200.0));
  SQLite::Statement query(database.sql(), "SELECT message FROM diagnostic WHERE code = 'log_ranks_derived'");
  ASSERT_TRUE(query.executeStep());
  EXPECT_THAT(query.getColumn(0).getString(), HasSubstr("8, because busbw"));
}

// The log in the database and the log given with the question lead to the same result.
TEST_F(NcclLog, PredictionsTakeItsTimes) {
  const std::string text = lines(8, 3.0);
  test::SyntheticRun run(folder_ / "run.db");
  run.fill();
  store::Database& database = run.database;
  fit::PredictOptions options;
  options.workers = {8, 64};
  const auto ddp = [](const fit::PredictResult& result) {
    std::vector<double> steps;
    for (const fit::Prediction& row : result.predictions)
      if (row.strategy == "ddp") steps.insert(steps.end(), {row.step_s, row.step_low_s, row.step_high_s});
    return steps;
  };
  const std::vector<double> without = ddp(fit::predict_all(database, options));
  fit::PredictOptions given = options;
  std::vector<collective::SizeTime> times;
  for (const fit::NcclTestsRow& row : read(text).rows)
    times.push_back({static_cast<double>(row.bytes), row.out_of_place_s});
  given.all_reduce.emplace_back(8, times);
  const std::vector<double> beside = ddp(fit::predict_all(database, given));
  import_log(database, text);
  const fit::PredictResult with = fit::predict_all(database, options);
  EXPECT_NE(ddp(with), without);
  ASSERT_EQ(ddp(with).size(), beside.size());
  for (std::size_t i = 0; i < beside.size(); ++i) EXPECT_NEAR(ddp(with)[i] / beside[i], 1.0, 1e-6) << i;
  bool told = false;
  for (const fit::Note& note : with.notes)
    told = told || note.message.find("as measured with 8 ranks") != std::string::npos;
  EXPECT_TRUE(told);
}

// A name with invalid UTF-8 must not break the measurement's options, which are JSON.
TEST_F(NcclLog, NamesOfAnyBytes) {
  store::Database database = make_database();
  EXPECT_EQ(import_log(database, ranks_of_two + std::string("1024 256 \xff\xdf s\xffm -1 20.00 0.05 0.05 0\n")), 2);
  EXPECT_EQ(database.sql().execAndGet("SELECT options FROM measurement").getString(),
            R"({"operation":"s�m","source":"nccl-tests","type":"��"})");
}

}  // namespace
}  // namespace ddpprof::import
