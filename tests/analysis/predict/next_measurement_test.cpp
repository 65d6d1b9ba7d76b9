// The advice on what to measure next beside what the interval becomes once it is measured.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/predict/predict.hpp"
#include "tests/analysis/fit/synthetic.hpp"

namespace ddpprof::fit {
namespace {

using synthetic::TemporaryDatabase;
using synthetic::Truth;

constexpr std::int64_t asked = 64;

PredictResult ask(store::Database& database) {
  PredictOptions options;
  options.workers = {asked};
  options.gpus_per_node = asked;
  return predict_all(database, options);
}

double half_width(const PredictResult& result) {
  const Prediction& row = result.predictions.at(0);
  return (row.step_high_s - row.step_low_s) / 2.0 / row.step_s;
}

// Measured as advised, the interval narrows to about what was said.
TEST(NextMeasurement, NarrowsTheIntervalAsPredicted) {
  Truth truth;
  truth.nccl = true;
  truth.noise = 0.02;
  truth.alpha_s = 0.5e-3;
  TemporaryDatabase before("advice-before");
  synthetic::add_ddp(before.get(), truth, {1, 2}, 1);
  const PredictResult first = ask(before.get());
  ASSERT_TRUE(first.next.contains("ddp"));
  const NextMeasurement said = first.next.at("ddp");
  EXPECT_LT(said.then, 0.8 * said.now);
  EXPECT_NEAR(said.now / half_width(first), 1.0, 0.5);
  EXPECT_THAT(first.notes, testing::Contains(testing::Field(&Note::code, "measure_next")));
  TemporaryDatabase after("advice-after");
  synthetic::add_ddp(after.get(), truth, {1, 2}, 1);
  if (said.bench_comm)
    synthetic::add_bench(after.get(), truth, {said.workers});
  else
    synthetic::add_ddp(after.get(), truth, {said.workers}, 2);
  const double then = half_width(ask(after.get()));
  EXPECT_LT(then, 0.8 * half_width(first));
  EXPECT_LT(then, 2.0 * said.then);
  EXPECT_GT(then, 0.3 * said.then);
}

TEST(NextMeasurement, IsEmptyForMeasuredN) {
  Truth truth;
  truth.nccl = true;
  TemporaryDatabase database("advice-measured");
  synthetic::add_ddp(database.get(), truth, {1, 2, asked}, 1);
  EXPECT_TRUE(ask(database.get()).next.empty());
}

}  // namespace
}  // namespace ddpprof::fit
