// The advice on what to measure next for a sharded training, beside its interval once this is measured.
#include "tests/analysis/predict/sharded_measurements.hpp"

namespace ddpprof::fit {
namespace {

using testing::HasSubstr;

double half_width(const Prediction& row) { return (row.step_high_s - row.step_low_s) / 2.0 / row.step_s; }

const Note* next_note(const PredictResult& result) {
  const auto found = std::ranges::find(result.notes, "measure_next", &Note::code);
  return found == result.notes.end() ? nullptr : &*found;
}

// Measured as advised, the interval narrows to about what was predicted.
TEST_F(Sharded, ItsNextMeasurementNarrowsTheIntervalAsPredicted) {
  Made made;
  made.noise = 0.02;
  made.cores = 8;
  measure(1, made);
  measure(2, made);
  const double before = half_width(predicted().at(8));
  ASSERT_TRUE(result_.next.contains("fsdp"));
  const NextMeasurement next = result_.next.at("fsdp");
  EXPECT_EQ(next.workers, 4);
  EXPECT_FALSE(next.bench_comm);
  EXPECT_NEAR(next.now / before, 1.0, 1e-9);
  EXPECT_LT(next.then, 0.8 * before);
  ASSERT_NE(next_note(result_), nullptr);
  EXPECT_THAT(next_note(result_)->message, HasSubstr("fsdp at N = 8: measuring N = 4 would narrow the 90 % interval"));
  measure(4, made);
  EXPECT_NEAR(half_width(predicted().at(8)) / next.then, 1.0, 0.5);
}

TEST_F(Sharded, ItsNextMeasurementNeedsOwnCores) {
  measure(1);
  measure(2);
  predicted(false);
  ASSERT_NE(next_note(result_), nullptr);
  EXPECT_THAT(next_note(result_)->message, HasSubstr("measuring N = 4 with own cores for each rank would narrow"));
  EXPECT_THAT(next_note(result_)->advice, HasSubstr("run the job with 4 ranks on hosts with enough cores"));
}

TEST_F(Sharded, LinksThatWereNotMeasuredAreItsNextMeasurement) {
  Made made;
  made.device = "cuda";
  measure(2, made);
  PredictOptions options;
  options.gpus_per_node = 4;
  const std::map<std::int64_t, Prediction> rows = predicted(true, options);
  EXPECT_FALSE(rows.contains(8));
  ASSERT_NE(next_note(result_), nullptr);
  EXPECT_THAT(next_note(result_)->message, HasSubstr("fsdp at N = 8: measuring two hosts"));
  EXPECT_THAT(next_note(result_)->advice, HasSubstr("--all-gather"));
  EXPECT_TRUE(result_.next.empty()) << "an interval that does not exist has no width";
}

TEST_F(Sharded, MeasuredNNeedNoNextMeasurement) {
  measure(1);
  measure(2);
  measure(4);
  measure(8);
  predicted();
  EXPECT_EQ(next_note(result_), nullptr);
}

}  // namespace
}  // namespace ddpprof::fit
