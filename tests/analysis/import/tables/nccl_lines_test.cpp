// Lines of nccl-tests under launchers and log collectors, with other programs' output between, and cut.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/fit/nccl_tests/all_reduce_log.hpp"
#include "analysis/import/tables/text_file.hpp"
#include "tests/analysis/import/tables/nccl_text.hpp"
#include "tests/analysis/import/tables/table_folder.hpp"
#include "tests/tiers.hpp"

namespace ddpprof::import {
namespace {

using test::NcclText;
using test::prefixed;
using testing::HasSubstr;
using testing::IsEmpty;

class NcclLines : public test::TableFolder {
 protected:
  fit::AllReduceRun read(const std::string& text) const {
    fit::AllReduceLog log = fit::read_all_reduces(write("log.txt", text));
    EXPECT_EQ(log.runs.size(), 1U);
    return log.runs.at(0);
  }
  static void expect_all(const fit::AllReduceRun& one, const std::string& what) {
    const NcclText text;
    EXPECT_EQ(one.ranks, 16) << what;
    EXPECT_EQ(one.run.ranks, 16) << what;
    EXPECT_EQ(one.run.hosts, 2) << what;
    EXPECT_THAT(one.run.warnings, IsEmpty()) << what;
    ASSERT_EQ(one.run.rows.size(), 11U) << what;
    for (const fit::NcclTestsRow& row : one.run.rows)
      EXPECT_NEAR(row.out_of_place_s * 1e6, text.time_us(row.bytes), 0.006) << what << row.bytes;
  }
};

TEST_F(NcclLines, PrefixesOfLaunchersAndCollectorsAreRemoved) {
  const std::string text = NcclText{}.all();
  for (const char* prefix : {"[1,0]<stdout>:",
                             "[1,0]<stdout>: ",
                             "Sat Mar  1 10:00:00 2026[1,0]<stdout>:",
                             "Sun Mar  1 10:00:00 2026<stdout>:",
                             "[prterun-node-a-4711@1,0]<stdout>: ",
                             "[1,12]<stderr>:",
                             "0: ",
                             " 0: ",
                             "0:",
                             "node-a: ",
                             "node-a:",
                             "node-a:0 ",
                             "node-a:0: ",
                             "[0] ",
                             "[node-a:4711] ",
                             "[pod/nccl-launcher-x7/main] ",
                             "nccl-launcher-x7 main ",
                             "launcher-1  | ",
                             "2026-03-01T10:00:00.123456789Z ",
                             "2026-03-01T10:00:00.1234567Z ",
                             "2026-03-01T10:00:00+01:00 ",
                             "2026-03-01T10:00:00.123456789Z stdout F ",
                             "2026-03-01 10:00:00,123 ",
                             "[2026-03-01 10:00:00] ",
                             "10:00:00.5 ",
                             "[pod/x/main] 2026-03-01T10:00:00Z [1,0]<stdout>:",
                             "2026-03-01T10:00:00.1234567Z \x1b[36m0:\x1b[0m ",
                             "job\tstep\t2026-03-01T10:00:00.1234567Z "}) {
    const std::string log = prefixed(text, prefix);
    SCOPED_TRACE(prefix);
    expect_all(read(log), prefix);
    EXPECT_EQ(text_kind(write("kind.txt", log)), TextKind::nccl_log) << prefix;
  }
  expect_all(read(prefixed(text, "", "\r\n")), "carriage returns");
  expect_all(read(prefixed(text, "waiting 10 %\rwaiting 100 %\r")), "overwritten lines");
  expect_all(read("\xef\xbb\xbf" + prefixed(text, "\x1b[1;32m", "\x1b[0m\n")), "colours");
}

constexpr std::int64_t size = 65536;

TEST_F(NcclLines, RowsBesideDebugOutputAreFound) {
  const NcclText text;
  const std::string debug = "node-a:4000:4012 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM";
  const std::pair<const char*, std::string> rows[] = {
      {"in front", debug + text.row(size)},
      {"with a number in front", "node-a:4000:4012 [0] NCCL INFO comm 0x55 rank 0 nranks 16 " + text.row(size)},
      {"after the root", text.row_start(size) + debug + "\n" + text.figures(size) + text.figures(size) + "\n"},
      {"after the root, two lines",
       text.row_start(size) + debug + "\n" + debug + "\n" + text.figures(size) + text.figures(size) + "\n"},
      {"before the figures too",
       text.row_start(size) + debug + "\n" + debug + text.figures(size) + text.figures(size) + "\n"},
      {"after the first times", text.row_start(size) + text.figures(size) + debug + "\n" + text.figures(size) + "\n"},
      {"with tags", "[1,0]<stdout>:" + text.row_start(size) + "\n[1,3]<stdout>:" + debug +
                        "\n[1,0]<stdout>:" + text.figures(size) + "\n"}};
  for (const auto& [what, row] : rows) {
    std::string log = text.all();
    const std::size_t at = log.find(text.row(size));
    expect_all(read(log.replace(at, text.row(size).size(), row)), what);
  }
}

// A row that cannot be found is counted.
TEST_F(NcclLines, LostRowsAreReported) {
  const NcclText text;
  std::string log = text.all();
  log.replace(log.find(text.row(size)), text.row(size).size(), text.row_start(size) + "node-a NCCL WARN x\n");
  const fit::AllReduceRun one = read(log);
  EXPECT_EQ(one.run.rows.size(), 10U);
  ASSERT_EQ(one.run.warnings.size(), 1U);
  EXPECT_THAT(one.run.warnings[0].message, HasSubstr("1 row was left out"));
  EXPECT_THAT(one.run.warnings[0].message, HasSubstr("65536 bytes"));
}

// Wherever the log is cut in its eighth row: seven sizes and a warning.
TEST_F(NcclLines, ACutRowIsLeftOut) {
  const NcclText text;
  const std::string log = text.all();
  constexpr std::int64_t eighth = 1024 << 14;
  const std::size_t row = log.find(text.row_start(eighth)), first = log.find("16777216", row) + 1,
                    last = log.find('\n', row) - 1;
  for (const bool line_end : {false, true}) {
    for (std::size_t end = first; end < last; end += test::long_tests() ? 1U : 5U) {
      const fit::AllReduceRun one = read(log.substr(0, end) + (line_end ? "\n" : ""));
      ASSERT_EQ(one.run.rows.size(), 7U) << log.substr(row, end - row);
      ASSERT_EQ(one.run.warnings.size(), 1U) << log.substr(row, end - row);
      EXPECT_EQ(one.run.warnings[0].code, "log_rows_lost");
    }
  }
  const fit::AllReduceRun whole = read(log.substr(0, log.find('\n', row)));
  EXPECT_EQ(whole.run.rows.size(), 8U);
  EXPECT_THAT(whole.run.warnings, IsEmpty());
}

TEST_F(NcclLines, TablesWithOtherSeparatorsAreTables) {
  for (const char* text : {"workers;nodes;batch_per_worker;step_time_s\n1;1;8;0,35\n",
                           "workers\tnodes\tbatch_per_worker\n", "workers|nodes|batch_per_worker|step_time_s\n"})
    EXPECT_EQ(text_kind(write("steps.txt", text)), TextKind::step_table) << text;
}

}  // namespace
}  // namespace ddpprof::import
