// The advice on what to measure next beside what the interval becomes once it is measured.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "analysis/fit/predict.hpp"
#include "tests/analysis/fit/synthetic.hpp"

namespace ddpprof::fit {
namespace {

using synthetic::TemporaryDatabase;
using synthetic::Truth;

constexpr std::int64_t asked = 64;

struct Advised {
  bool any = false, bench_comm = false;
  std::int64_t workers = 0;
  double now = 0.0, then = 0.0, half_width = 0.0;
};

Advised advice(store::Database& database) {
  PredictOptions options;
  options.workers = {asked};
  const PredictResult result = predict_all(database, options);
  const Prediction& row = result.predictions.at(0);
  Advised found;
  found.half_width = (row.step_high_s - row.step_low_s) / 2.0 / row.step_s;
  static const std::regex text(
      R"(addition, (ddp|all-reduces alone) at N = (\d+) would .* from about ±([\d.]+) % to ±([\d.]+) %)");
  for (const Note& note : result.notes) {
    std::smatch parts;
    if (note.code != "measure_next" || !std::regex_search(note.message, parts, text)) continue;
    found = {true,
             parts[1] != "ddp",
             std::stoll(parts[2]),
             std::stod(parts[3]) / 100,
             std::stod(parts[4]) / 100,
             found.half_width};
  }
  return found;
}

// Measured as advised, the interval narrows to about what was said.
TEST(NextMeasurement, NarrowsTheIntervalAsSaid) {
  Truth truth;
  truth.nccl = true;
  truth.noise = 0.02;
  truth.alpha_s = 0.5e-3;
  TemporaryDatabase before("advice-before");
  synthetic::add_ddp(before.get(), truth, {1, 2}, 1);
  const Advised said = advice(before.get());
  ASSERT_TRUE(said.any);
  EXPECT_LT(said.then, 0.8 * said.now);
  EXPECT_NEAR(said.now / said.half_width, 1.0, 0.5);
  TemporaryDatabase after("advice-after");
  synthetic::add_ddp(after.get(), truth, {1, 2}, 1);
  if (said.bench_comm)
    synthetic::add_bench(after.get(), truth, {said.workers});
  else
    synthetic::add_ddp(after.get(), truth, {said.workers}, 2);
  const Advised then = advice(after.get());
  EXPECT_LT(then.half_width, 0.8 * said.half_width);
  EXPECT_LT(then.half_width, 2.0 * said.then);
  EXPECT_GT(then.half_width, 0.3 * said.then);
}

TEST(NextMeasurement, IsNotNamedForWhatWasMeasured) {
  Truth truth;
  truth.nccl = true;
  TemporaryDatabase database("advice-measured");
  synthetic::add_ddp(database.get(), truth, {1, 2, asked}, 1);
  EXPECT_FALSE(advice(database.get()).any);
}

}  // namespace
}  // namespace ddpprof::fit
