// The simulated step of a sharded training as lanes, from measurements that follow a known law
// (sharded_measurements.hpp).
#include "analysis/predict/sharded/sharded_lanes.hpp"

#include <gmock/gmock.h>

#include <stdexcept>

#include "tests/analysis/predict/sharded_measurements.hpp"

namespace ddpprof::fit {
namespace {

using step::Segment;
using step::SegmentKind;

double sum_s(const step::Lane& lane, SegmentKind kind) {
  double sum = 0.0;
  for (const Segment& segment : lane.segments)
    if (segment.kind == kind) sum += segment.duration_s();
  return sum;
}

TEST_F(Sharded, LanesAreThePredictedStep) {
  for (const char* device : {"cpu", "cuda"}) {
    SCOPED_TRACE(device);
    database_ = store::Database::create(folder_ / (std::string(device) + ".db"));
    const Made made{.device = device, .cores = 8};
    measure(1, made);
    measure(2, made);
    PredictOptions options;
    options.workers = {8};
    options.dedicated = true;
    const Prediction row = predict_all(database_, options).predictions.at(0);
    const step::StepLanes lanes = simulated_sharded_lanes(database_.sql(), 8, options);
    EXPECT_TRUE(lanes.simulated);
    EXPECT_EQ(lanes.workers, 8);
    EXPECT_NEAR(lanes.step_s, row.step_s, 1e-6);
    EXPECT_EQ(lanes.note, "");
    ASSERT_EQ(lanes.lanes.size(), 3U);
    double at_s = 0.0;
    for (const Segment& segment : lanes.lanes[0].segments) {
      EXPECT_DOUBLE_EQ(segment.begin_s, at_s) << segment.name;
      at_s = segment.end_s;
    }
    EXPECT_DOUBLE_EQ(at_s, lanes.step_s);
    EXPECT_NEAR(sum_s(lanes.lanes[0], SegmentKind::exposed) / row.exposed_s, 1.0, 2 * near);
    EXPECT_NEAR(sum_s(lanes.lanes[0], SegmentKind::optimizer), optimizer_s / 8, 1e-6);
    double communication_s = 0.0;
    for (const step::Lane& lane : {lanes.lanes[1], lanes.lanes[2]})
      communication_s += sum_s(lane, SegmentKind::exposed) + sum_s(lane, SegmentKind::overlapped);
    EXPECT_NEAR(communication_s, row.communication_s, 1e-6);
    const bool waits = made.device == "cpu";
    EXPECT_EQ(sum_s(lanes.lanes[1], SegmentKind::overlapped) > 0.0, !waits);
    EXPECT_EQ(lanes.lanes[1].segments[0].bytes, 1'000'000) << "the first unit after the root";
  }
}

TEST_F(Sharded, LanesOfStepsThatCannotBePredictedHaveTheReason) {
  EXPECT_THROW(simulated_sharded_lanes(database_.sql(), 2), std::invalid_argument);
  measure(1);
  try {
    simulated_sharded_lanes(database_.sql(), 8);
    ADD_FAILURE();
  } catch (const std::invalid_argument& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("no measurement with 2 or more ranks"));
  }
}

}  // namespace
}  // namespace ddpprof::fit
