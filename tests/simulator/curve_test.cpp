// A curve of measured sizes: exact on a line, rising, and moved to other numbers of ranks as a ring would.
#include "simulator/collective/curve.hpp"

#include <gtest/gtest.h>

#include "simulator/collective/all_reduce.hpp"

namespace ddpprof::collective {
namespace {

TEST(Curve, IsExactForOneLatencyAndOneBandwidth) {
  const Link link{5e-6, 1e-10, 2e-11};
  std::vector<SizeTime> measured;
  for (const double bytes : {1e3, 1e5, 1e7, 1e9}) measured.push_back({bytes, ring(8, bytes, link).total_s()});
  const Curve curve(8, measured);
  for (const double bytes : {2e3, 5e6, 3e8, 5e9}) {
    EXPECT_NEAR(curve.time_s(bytes) / ring(8, bytes, link).total_s(), 1.0, 1e-9) << bytes;
    for (const std::int64_t ranks : {2, 16, 512})
      EXPECT_NEAR(curve.time_s(bytes, ranks) / ring(ranks, bytes, link).total_s(), 1.0, 1e-9) << bytes << ' ' << ranks;
  }
  EXPECT_NEAR(curve.time_s(10.0) / ring(8, 10.0, link).total_s(), 1.0, 1e-9) << "below the smallest size";
  EXPECT_EQ(curve.time_s(1e6, 1), 0.0);
}

TEST(Curve, NeverFallsAsMessagesGrow) {
  const std::vector<SizeTime> measured = {{4.0, 8.0}, {1.0, 3.0}, {2.0, 9.0}, {8.0, 7.0}, {16.0, 20.0}};
  const Curve curve(2, measured);
  double before = 0.0;
  for (double bytes = 0.5; bytes < 40.0; bytes += 0.5) {
    EXPECT_GE(curve.time_s(bytes), before) << bytes;
    before = curve.time_s(bytes);
  }
  EXPECT_DOUBLE_EQ(curve.time_s(4.0), 8.0);  // the mean of 9, 8 and 7
  EXPECT_DOUBLE_EQ(curve.time_s(1.0), 3.0);
}

TEST(Curve, OfSeveralTimesOfASizeTheMedianCounts) {
  EXPECT_EQ(Curve(2, std::vector<SizeTime>{{1.0, 5.0}, {1.0, 900.0}, {1.0, 6.0}}).time_s(1.0), 6.0);
}

// nccl-tests with -b 256M: 4 MiB take 754 µs, not the 47 ms of the smallest size.
TEST(Curve, OfLargeSizesExtrapolatesToSmallOnes) {
  const Link link{20e-6 / 14.0, 1e-10, 0.0};
  std::vector<SizeTime> measured;
  for (const double bytes : {0x1p28, 0x1p29, 0x1p30}) measured.push_back({bytes, ring(8, bytes, link).total_s()});
  const Curve curve(8, measured);
  for (const double bytes : {0x1p20, 0x1p22})
    for (const std::int64_t ranks : {8, 16})
      EXPECT_NEAR(curve.time_s(bytes, ranks) / ring(ranks, bytes, link).total_s(), 1.0, 1e-6) << bytes;
  // A line through protocols, or through noise, may have a latency below 0: the latency is then the least one of a
  // tree.
  const Curve switched(8, std::vector<SizeTime>{{1e8, 1.0}, {2e8, 4.0}});
  EXPECT_NEAR(switched.time_s(5e7), 0.5, 1e-5);
  EXPECT_NEAR(switched.time_s(1.0), 6e-6, 1e-7);
}

TEST(Curve, OneSizeIsABandwidth) {
  const Curve curve(4, std::vector<SizeTime>{{1e6, 1e-3}});
  EXPECT_DOUBLE_EQ(curve.time_s(2e6), 2e-3);
  EXPECT_NEAR(curve.time_s(5e5), 0.5e-3, 4e-6) << "and the least latency of four ranks";
  EXPECT_DOUBLE_EQ(curve.time_s(1e6, 8), 1e-3 * (7.0 / 8.0) / (3.0 / 4.0));
}

TEST(Curve, RefusesWhatCannotBe) {
  EXPECT_THROW(Curve(2, {}), std::invalid_argument);
  EXPECT_THROW(Curve(0, std::vector<SizeTime>{{1.0, 1.0}}), std::invalid_argument);
  EXPECT_THROW(Curve(2, std::vector<SizeTime>{{0.0, 1.0}}), std::invalid_argument);
  EXPECT_THROW(Curve(2, std::vector<SizeTime>{{1.0, 0.0}}), std::invalid_argument);
  EXPECT_THROW(Curve(1, std::vector<SizeTime>{{1.0, 1.0}}).time_s(1.0, 4), std::invalid_argument);
  EXPECT_THROW(Curve(2, std::vector<SizeTime>{{1.0, 1.0}}).time_s(1.0, 0), std::invalid_argument);
}

}  // namespace
}  // namespace ddpprof::collective
