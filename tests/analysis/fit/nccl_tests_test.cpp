// Output of several versions of nccl-tests, also under launchers, and files that are not such output.
#include "analysis/fit/nccl_tests/nccl_tests.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

namespace ddpprof::fit {
namespace {

using testing::HasSubstr;

class NcclTests : public testing::Test {
 protected:
  std::vector<NcclTestsRun> read_all(const std::string& text) {
    std::ofstream(path_, std::ios::binary) << text;
    return read_nccl_tests(path_);
  }
  NcclTestsRun read(const std::string& text) { return read_all(text).at(0); }
  std::string refusal(const std::string& text) {
    try {
      read(text);
    } catch (const NcclTestsError& error) {
      return error.what();
    }
    return "";
  }
  void TearDown() override { std::filesystem::remove(path_); }

  std::filesystem::path path_ = std::filesystem::temp_directory_path() / ("ddpprof_nccl_" + std::to_string(getpid()));
};

TEST_F(NcclTests, BothTimesWithOperationRootAndWrongValues) {
  const NcclTestsRun log = read(
      "# nThread 1 nGpus 1 minBytes 8 maxBytes 8589934592 step: 2(factor)\n"
      "#  Rank  0 Group  0 Pid  101 on     node-a device  0 [0x10] NVIDIA A100\n"
      "#  Rank  1 Group  0 Pid  102 on     node-b device  0 [0x10] NVIDIA A100\n"
      "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw "
      "#wrong\n"
      "           0             0     float     sum      -1     0.10    0.00    0.00      0     0.11    0.00    0.00   "
      "   0\n"
      "           8             2     float     sum      -1    164.3    0.00    0.00      0    163.3    0.00    0.00   "
      "   0\n"
      "   268435456      67108864     float     sum      -1   7201.7   37.27   69.89      0   7227.9   37.14   69.64   "
      " N/A\n"
      "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 12.3\n");
  EXPECT_EQ(log.ranks, 2);
  EXPECT_EQ(log.hosts, 2);
  EXPECT_EQ(log.type, "float");
  EXPECT_EQ(log.operation, "sum");
  EXPECT_DOUBLE_EQ(log.bus_factor, 69.89 / 37.27);
  ASSERT_EQ(log.rows.size(), 2U);
  EXPECT_EQ(log.rows[1].bytes, 268435456);
  EXPECT_DOUBLE_EQ(log.rows[1].out_of_place_s, 7201.7e-6);
  EXPECT_DOUBLE_EQ(log.rows[1].in_place_s, 7227.9e-6);
}

TEST_F(NcclTests, WithoutRootWithoutInPlaceAndUnderLaunchers) {
  const NcclTestsRun old = read(
      "    33554432       8388608     float     sum    19902    1.69    2.53  2e-07    19898    1.69    2.53  2e-07\n");
  EXPECT_DOUBLE_EQ(old.rows.at(0).out_of_place_s, 19902e-6);
  EXPECT_DOUBLE_EQ(old.rows.at(0).in_place_s, 19898e-6);
  const NcclTestsRun half = read("     8388608       2097152     float     sum      -1    80.32  104.44  182.77\r\n");
  EXPECT_DOUBLE_EQ(half.rows.at(0).out_of_place_s, 80.32e-6);
  EXPECT_EQ(half.rows.at(0).in_place_s, 0.0);
  for (const char* tag : {"0: ", "[1,0]<stdout>: ", "node-1: "}) {
    const NcclTestsRun tagged = read(std::string(tag) + "# Rank 0 Group 0 Pid 1 on a device 0\n" + tag +
                                     " 1048576  262144  float  sum  -1  309.4  3.39  6.35  0  307.3  3.41  6.40  0\n");
    EXPECT_EQ(tagged.rows.at(0).bytes, 1048576) << tag;
    EXPECT_EQ(tagged.ranks, 1) << tag;
  }
  // A broadcast from rank 3: the root must not be read as a time.
  const NcclTestsRun broadcast = read(" 1048576  262144  float  none  3  309.4  3.39  3.39  0  307.3  3.41  3.41  0\n");
  EXPECT_DOUBLE_EQ(broadcast.rows.at(0).out_of_place_s, 309.4e-6);
  EXPECT_EQ(broadcast.operation, "none");
  EXPECT_DOUBLE_EQ(broadcast.bus_factor, 1.0);
}

TEST_F(NcclTests, OtherFilesAreRefused) {
  EXPECT_THAT(refusal(""),
              HasSubstr("contains no line with a message size; expected lines as all_reduce_perf prints them"));
  EXPECT_THAT(refusal("hello\nworld 1 2 3 4 5 6\n"), HasSubstr("contains no line with a message size"));
  EXPECT_THAT(refusal("# a\n 1048576 262144 float sum -1 309.4 99.0 6.35 0\n"),
              HasSubstr(":2: the time and the bandwidth of 1048576 bytes do not agree"));
  EXPECT_THAT(refusal(" 1048576 262144 float sum -1 nan 3.39 6.35 0\n"), HasSubstr("do not agree"));
  EXPECT_THAT(refusal(std::string(17 << 20, ' ')), HasSubstr("is larger than 16 MiB"));
  EXPECT_THROW(read_nccl_tests("/no/such/log"), NcclTestsError);
}

TEST_F(NcclTests, ImpossibleValuesAreRefused) {
  const std::string before = "     1024           256     float     sum      -1 ";
  for (const char* figures : {"1e300 0.00 0.00 0", "0.0001 10485760 10485760 0", "20.0 nan nan 0", "20.0 0.05 inf 0",
                              "-20.0 -0.05 -0.05 0", "0 0.05 0.05 0"})
    EXPECT_THAT(refusal(before + figures + "\n"), HasSubstr("do not agree")) << figures;
}

}  // namespace
}  // namespace ddpprof::fit
