// Logs of nccl-tests with several runs, several programs, other collectives, groups, and the JSON file. The right
// answers are those of the formula in nccl_text.hpp.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/fit/nccl_tests/all_reduce_log.hpp"
#include "analysis/import/tables/text_file.hpp"
#include "tests/analysis/import/tables/nccl_text.hpp"
#include "tests/analysis/import/tables/table_folder.hpp"

namespace ddpprof::import {
namespace {

using test::NcclText;
using test::prefixed;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

class NcclRuns : public test::TableFolder {
 protected:
  fit::AllReduceLog read(const std::string& text) const { return fit::read_all_reduces(write("log.txt", text)); }
  std::string refusal(const std::string& text) const {
    try {
      read(text);
    } catch (const fit::NcclTestsError& error) {
      return error.what();
    }
    return "";
  }
  // Compares a run with its formula.
  static void expect_run(const fit::AllReduceRun& one, const NcclText& text) {
    EXPECT_EQ(one.ranks, text.ranks);
    EXPECT_EQ(one.run.hosts, text.hosts);
    ASSERT_EQ(one.run.rows.size(), 11U);
    for (const fit::NcclTestsRow& row : one.run.rows)
      EXPECT_NEAR(row.out_of_place_s * 1e6, text.time_us(row.bytes), 0.006) << row.bytes;
  }
};

// mpirun starts eight programs, and each of them prints everything: one rank, busbw 0.
TEST_F(NcclRuns, ProgramsOfOneRankEachAreRefused) {
  NcclText one{.ranks = 1, .hosts = 1};
  std::string log;
  for (const std::string& part : {one.begin(), one.rank(0, 0, 0), one.columns()}) log += part + part + part;
  for (std::int64_t bytes = 1024; bytes <= 1 << 20; bytes *= 4) log += one.row(bytes) + one.row(bytes) + one.row(bytes);
  log += one.end() + one.end() + one.end();
  EXPECT_THAT(refusal(log), AllOf(HasSubstr("every rank appears 3 times"), HasSubstr("MPI=1")));
}

// The second program starts when the first has printed its heading.
TEST_F(NcclRuns, ASecondProgramBetweenHeadingAndRowsIsNoticed) {
  const NcclText first{.ranks = 8, .hosts = 1}, second{.ranks = 8, .hosts = 1, .busbw = 199.0, .host = "other-"};
  std::string log =
      first.begin() + first.devices() + first.columns() + second.begin() + second.devices() + second.columns();
  for (std::int64_t bytes = 1024; bytes <= 1 << 30; bytes *= 4) log += first.row(bytes) + second.row(bytes);
  EXPECT_THAT(refusal(log + first.end() + second.end()), HasSubstr("every rank appears 2 times"));
}

TEST_F(NcclRuns, ProgramsOneAfterTheOtherAreRunsOfOneHost) {
  const NcclText first{.ranks = 8, .hosts = 1}, second{.ranks = 8, .hosts = 1, .host = "other-"};
  const fit::AllReduceLog log = read(first.all() + second.all());
  ASSERT_EQ(log.runs.size(), 2U);
  expect_run(log.runs[1], second);
  ASSERT_EQ(log.warnings.size(), 1U);
  EXPECT_THAT(log.warnings[0].message, HasSubstr("no run measured the links between these hosts"));
}

TEST_F(NcclRuns, EachRunHasItsOwnRanksAndTimes) {
  for (const char* program : {"all_reduce_perf", ""}) {
    std::vector<NcclText> texts;
    std::string all;
    for (const std::int64_t ranks : {2, 8, 32}) {
      texts.push_back({.ranks = ranks,
                       .hosts = std::max<std::int64_t>(1, ranks / 8),
                       .busbw = 400.0 / static_cast<double>(ranks),
                       .program = program});
      all += texts.back().all();
    }
    const fit::AllReduceLog log = read(prefixed(all, "[1,0]<stdout>:"));
    ASSERT_EQ(log.runs.size(), 3U) << program;
    for (std::size_t i = 0; i < 3; ++i) expect_run(log.runs[i], texts[i]);
    EXPECT_THAT(fit::messages_of(log), IsEmpty());
  }
}

// A start that failed before its first row, then a start with the same ranks.
TEST_F(NcclRuns, AStartThatFailedIsNoRun) {
  const NcclText text;
  const std::string failed =
      text.begin() + text.devices() + text.columns() + "node-a: Test NCCL failure common.cu:1140 'unhandled error'\n";
  const fit::AllReduceLog log = read(failed + text.begin() + text.devices() + "Test CUDA failure\n" + text.all());
  ASSERT_EQ(log.runs.size(), 1U);
  expect_run(log.runs[0], text);
}

// Versions before 2.17 do not print the program: columns and bandwidths show the collective.
TEST_F(NcclRuns, OtherCollectivesAreLeftOut) {
  const NcclText all_reduce{.program = ""};
  const NcclText others[] = {{.program = "", .operation = "none"},
                             {.program = "", .root = 0, .bus_factor = 1.0},
                             {.program = "", .operation = "none", .root = 3, .bus_factor = 1.0},
                             {.program = "", .bus_factor = 15.0 / 16.0},
                             {.program = "reduce_scatter_perf", .bus_factor = 15.0 / 16.0},
                             {.program = "/opt/nccl-tests/build/sendrecv_perf_mpi", .operation = "none"},
                             {.time = "cputime"}};
  for (const NcclText& other : others) {
    for (const std::string& text : {all_reduce.all() + other.all(), other.all() + all_reduce.all()}) {
      const fit::AllReduceLog log = read(text);
      ASSERT_EQ(log.runs.size(), 1U) << other.program << other.operation << other.root;
      expect_run(log.runs[0], all_reduce);
      ASSERT_EQ(log.warnings.size(), 1U);
      EXPECT_EQ(log.warnings[0].code, "log_run_left_out");
    }
    EXPECT_THAT(refusal(other.all()), HasSubstr("these are not "));
  }
  EXPECT_THAT(refusal(NcclText{.ranks = 2, .program = "", .root = 1}.all()), HasSubstr("an all-reduce has no root"));
  EXPECT_THAT(refusal(NcclText{.ranks = 2, .program = "broadcast_perf", .operation = "none", .root = 0}.all()),
              HasSubstr("the test is broadcast_perf"));
}

// Named by the program, with their ranks listed and (N-1)/N as the factor of their bandwidths.
TEST_F(NcclRuns, OtherCollectivesAreReadForPredictionsOfTheirOwn) {
  const double factor = 15.0 / 16.0;
  const NcclText all_reduce, gather{.program = "all_gather_perf", .operation = "none", .bus_factor = factor},
      exchange{.program = "alltoall_perf", .operation = "none", .bus_factor = factor},
      wrong{.program = "reduce_scatter_perf"};
  const auto collectives = [&](const std::string& text) { return fit::read_collectives(write("log.txt", text)); };
  const fit::AllReduceLog log = collectives(gather.all() + all_reduce.all() + exchange.all() + wrong.all());
  ASSERT_EQ(log.runs.size(), 1U);
  ASSERT_EQ(log.others.size(), 2U);
  EXPECT_EQ(log.others[0].op, "all_gather");
  EXPECT_EQ(log.others[0].ranks, 16);
  EXPECT_EQ(log.others[1].op, "all_to_all");
  ASSERT_EQ(log.warnings.size(), 1U) << "the bandwidths are not those of a reduce-scatter";
  EXPECT_THAT(log.warnings[0].message, HasSubstr("reduce_scatter_perf"));
  EXPECT_TRUE(collectives(gather.all()).runs.empty());
  EXPECT_THAT(refusal(gather.all()), HasSubstr("the test is all_gather_perf")) << "as links of a training";
}

TEST_F(NcclRuns, OfGroupsTheOneOfRankZeroCounts) {
  const NcclText of_eight{.ranks = 8, .hosts = 1};
  std::string devices, pairs;
  for (std::int64_t rank = 0; rank < 16; ++rank) devices += of_eight.rank(rank, rank / 8, rank / 8);
  const fit::AllReduceLog halves =
      read(of_eight.begin() + devices + of_eight.columns() + of_eight.rows() + of_eight.end());
  expect_run(halves.runs.at(0), of_eight);
  EXPECT_EQ(halves.runs[0].run.groups, 2);
  const NcclText of_four{.ranks = 4, .hosts = 4};
  for (std::int64_t rank = 0; rank < 32; ++rank) pairs += of_four.rank(rank, rank % 8, rank / 8);
  const fit::AllReduceLog rails = read(of_four.begin() + pairs + of_four.columns() + of_four.rows() + of_four.end());
  expect_run(rails.runs.at(0), of_four);
  EXPECT_THAT(fit::messages_of(rails), Contains(HasSubstr("8 groups ran at the same time")));
}

// all_reduce_perf -o all: the other operations take longer. -d all: half precision.
TEST_F(NcclRuns, OfSeveralOperationsTheSumCountsAndOfSeveralTypesFloat) {
  const NcclText sum, slow{.busbw = 50.0};
  const auto rows = [](const NcclText& text, const std::string& type, const std::string& operation) {
    std::string all = text.rows();
    for (const auto& [from, to] : {std::pair{std::string("   float"), "   " + type}, {"   sum", "  " + operation}})
      for (std::size_t at = all.find(from); at != std::string::npos; at = all.find(from, at + to.size()))
        all.replace(at, from.size(), to);
    return all;
  };
  const std::string head = sum.begin() + sum.devices() + sum.columns();
  const fit::AllReduceLog operations = read(head + rows(slow, "float", "prod") + sum.rows() + sum.end());
  expect_run(operations.runs.at(0), sum);
  EXPECT_THAT(fit::messages_of(operations), Contains(HasSubstr("those of float prod are left out")));
  const fit::AllReduceLog types = read(head + sum.rows() + rows(slow, "half", "sum") + sum.end());
  expect_run(types.runs.at(0), sum);
  EXPECT_EQ(types.runs[0].run.type, "float");
  EXPECT_THAT(fit::messages_of(types), Contains(HasSubstr("those of half sum are left out")));
  const fit::AllReduceLog all_types = read(head + rows(slow, "int8", "sum") + sum.rows() + sum.end());
  expect_run(all_types.runs.at(0), sum);
}

// Containers with the host name "localhost" on two hosts: NCCL refuses two ranks on one GPU.
TEST_F(NcclRuns, RanksOnTheSameGpuAreOnSeveralHosts) {
  const NcclText text;
  std::string devices;
  for (std::int64_t rank = 0; rank < 16; ++rank) devices += text.rank_on(rank, 0, "localhost", rank % 8);
  const fit::AllReduceLog log = read(text.begin() + devices + text.columns() + text.rows() + text.end());
  expect_run(log.runs.at(0), text);
  EXPECT_EQ(log.runs[0].run.hosts, 2);
  EXPECT_THAT(fit::messages_of(log), Contains(HasSubstr("2 hosts are assumed, with 1 name")));
}

TEST_F(NcclRuns, WrongValuesOfALogWithoutSummaryAreReported) {
  const NcclText wrong{.wrong = "3"};
  const std::string text = wrong.begin() + wrong.devices() + wrong.columns() + wrong.rows();
  EXPECT_THAT(fit::messages_of(read(text)), Contains(HasSubstr("11 sizes FAILED")));
  EXPECT_THAT(fit::messages_of(read(NcclText{.wrong = "N/A"}.all())), IsEmpty());
  EXPECT_THAT(fit::messages_of(read(prefixed(text + "# Out of bounds values : 4 FAILED\n", "0: "))),
              Contains(HasSubstr("out-of-bounds values: 4 FAILED")));
}

// Large bandwidths are printed with fewer decimals.
TEST_F(NcclRuns, RanksComeFromBandwidthsOfFewDecimals) {
  const fit::AllReduceLog log = read(
      "   268435456      67108864     float     sum      -1    20.00   13422   23488       0\n"
      "  1073741824     268435456     float     sum      -1    80.00   13422 2.3e+04       0\n");
  EXPECT_EQ(log.runs.at(0).ranks, 8);
}

// ---- JSON

std::string json_of(const NcclText& text, const std::string& config, const std::string& more = "",
                    const std::string& time = "time") {
  std::string results;
  for (std::int64_t bytes = text.least; bytes <= text.most; bytes *= 4) {
    const double us = text.time_us(bytes), algbw = static_cast<double>(bytes) / us * 1e-3;
    results += fmt::format(
        R"({}{{"size":{},"count":{},"type":"float","redop":"sum","root":"    -1","out_of_place":{{"{}":{:f},"alg_bw":{:f},"bus_bw":{:f},"nwrong":null}},"in_place":null}})",
        results.empty() ? "" : ",", bytes, bytes / 4, time, us, algbw, algbw * text.ring());
  }
  return R"({"version":2,"start_time":"x","args":["./)" + text.program +
         R"("],"env":[],"nccl_version":22809,"config":{)" + config + R"(},"results":[)" + results + "]" + more + "}";
}

TEST_F(NcclRuns, TheJsonFileListsTheFirstDeviceOfEachProcess) {
  const std::string config =
      R"("nthreads":1,"ngpus":8,"devices":[{"rank":0,"group":0,"hostname":"a","device":0},{"rank":8,"group":0,"hostname":"b","device":0}])";
  const NcclText text;
  const fit::AllReduceLog log = read(json_of(text, config, R"(,"out_of_bounds":{"count":7,"okay":"false"})"));
  expect_run(log.runs.at(0), text);
  EXPECT_THAT(fit::messages_of(log), Contains(HasSubstr("7 FAILED")));
  EXPECT_EQ(text_kind(write("a.json", json_of(text, config))), TextKind::nccl_log);
  EXPECT_EQ(text_kind(write("b.json", R"({"distributedInfo": {"nccl_version": "2.20"}, "traceEvents": []})")),
            TextKind::neither);
}

TEST_F(NcclRuns, AJsonFileOfOtherTimesOrCutIsRefused) {
  const NcclText text{.ranks = 8, .hosts = 1};
  const std::string config = R"("nthreads":1,"ngpus":8,"devices":[{"rank":0,"group":0,"hostname":"a","device":0}])";
  EXPECT_THAT(refusal(json_of(text, config, "", "cpu_time")), HasSubstr("cputime"));
  const std::string whole = json_of(text, config);
  expect_run(read(whole).runs.at(0), text);
  EXPECT_THAT(refusal(whole.substr(0, whole.size() / 2)), HasSubstr("cut or damaged; give the text output"));
  NcclText gather = text;
  gather.program = "all_gather_perf";
  EXPECT_THAT(refusal(json_of(gather, config)), HasSubstr("the test is all_gather_perf"));
}

}  // namespace
}  // namespace ddpprof::import
