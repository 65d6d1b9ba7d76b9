// The parts of a step add up and none is negative, although the medians of the parts do not add up.
#include "gui/models/strategies/time_parts.hpp"

#include <gtest/gtest.h>

#include "analysis/predict/lanes.hpp"
#include "gui/models/strategies/strategies.hpp"
#include "gui/models/strategies/strategy_tables.hpp"
#include "tests/gui/strategies/measured_file.hpp"

namespace ddpprof::gui {
namespace {

void expect_sound(const TimeParts& parts, double step_s, const std::string& what) {
  EXPECT_NEAR(parts.step_s(), step_s, 1e-9 * step_s) << what;
  for (const double part :
       {parts.compute_s, parts.exposed_s, parts.skew_s, parts.host_s, parts.other_s, parts.not_modelled_s})
    EXPECT_GE(part, 0.0) << what;
}

// Three kinds of DataParallel steps at N = 2, ten of each: compute 60, 30, 60 ms, copies 30, 60, 60 ms, input 1 ms. The
// medians are 60 ms of compute and 60 ms of copies in a step of 91 ms.
void make_medians_exceed_the_step(const std::filesystem::path& path) {
  store::Database database = store::Database::open_write(path);
  database.sql().exec(
      "UPDATE step SET forward_ns = CASE step % 3 WHEN 1 THEN 10000000 ELSE 20000000 END, "
      "backward_ns = CASE step % 3 WHEN 1 THEN 15000000 ELSE 35000000 END, optimizer_ns = 5000000, "
      "copy_ns = CASE step % 3 WHEN 0 THEN 30000000 ELSE 60000000 END, "
      "data_wait_ns = 1000000, host_to_device_ns = 0, buffers_ns = 0, "
      "duration_ns = CASE step % 3 WHEN 2 THEN 121000000 ELSE 91000000 END "
      "WHERE shard_id IN (SELECT shard.id FROM shard JOIN measurement m ON m.id = shard.measurement_id "
      "WHERE m.strategy = 'dp' AND m.world_size = 2)");
}

TEST(TimeParts, AddUpWhereTheMediansExceedTheStep) {
  const test::MeasuredFile file("parts-medians", {1, 2}, {1, 2});
  make_medians_exceed_the_step(file.path());
  const Comparison all = Strategies(open_file(file.path())).compare(2, Source::measured);
  ASSERT_TRUE(all.dp.row);
  EXPECT_NEAR(all.dp.row->step_s, 0.091, 1e-9);
  const TimeParts& parts = all.dp.parts;
  expect_sound(parts, 0.091, "dp");
  // By hand: mean of the shares × median step.
  EXPECT_NEAR(parts.compute_s, 0.091 * (60.0 / 91.0 + 30.0 / 91.0 + 60.0 / 121.0) / 3.0, 1e-9);
  EXPECT_NEAR(parts.exposed_s, 0.091 * (30.0 / 91.0 + 60.0 / 91.0 + 60.0 / 121.0) / 3.0, 1e-9);
  EXPECT_NEAR(parts.other_s, 0.091 * (1.0 / 91.0 + 1.0 / 91.0 + 1.0 / 121.0) / 3.0, 1e-9);
  // `ddpprof predict` prints these values. The rest computed from medians, which was shown before, is below -20 ms.
  EXPECT_EQ(parts.compute_s, all.dp.row->compute_s);
  EXPECT_EQ(parts.exposed_s, all.dp.row->exposed_s);
  EXPECT_EQ(parts.skew_s, all.dp.row->skew_s);
  EXPECT_EQ(parts.other_s, all.dp.row->other_s);
  const report::Table table = time_table(all);
  EXPECT_EQ(std::get<double>(table.rows[0][8]), parts.other_s);
}

// Simulated parts of a measured step must not be labelled measured.
TEST(TimeParts, AreLabelledSimulatedIfNoCommunicationWasRecorded) {
  const test::MeasuredFile file("parts-unrecorded", {1, 2, 4}, {});
  {
    store::Database database = store::Database::open_write(file.path());
    database.sql().exec("UPDATE step SET communication_ns = 0, overlapped_ns = 0, exposed_ns = 0, skew_ns = 0");
  }
  const Comparison all = Strategies(open_file(file.path())).compare(4, Source::measured);
  ASSERT_TRUE(all.ddp.row) << all.ddp.why_not;
  EXPECT_TRUE(all.ddp.measured);
  EXPECT_TRUE(all.ddp.parts_simulated);
  expect_sound(all.ddp.parts, all.ddp.row->step_s, "ddp");
  EXPECT_EQ(std::get<std::string>(time_table(all).rows[0][2]), "measured, parts simulated");
}

TEST(TimeParts, AddUpToTheStepThatIsShownAtAnyN) {
  const test::MeasuredFile file("parts-any", {1, 2, 4}, {1, 2, 4});
  const Strategies strategies(open_file(file.path()));
  for (const Source source : {Source::measured, Source::simulated})
    for (const std::int64_t workers : {1, 2, 3, 4, 64}) {
      const Comparison all = strategies.compare(workers, source);
      for (const Side* side : {&all.dp, &all.ddp}) {
        ASSERT_TRUE(side->row) << side->why_not;
        expect_sound(side->parts, side->row->step_s,
                     side->strategy + (side->measured ? " measured " : " simulated ") + std::to_string(workers));
      }
    }
}

// Simulated phases are drawn with the time between their kernels; the parts separate the two as predictions do.
TEST(TimeParts, SeparateTheWaitForLaunchesFromCompute) {
  fit::synthetic::Truth truth;
  truth.nccl = true;
  truth.idle_share = 0.6;
  fit::synthetic::TemporaryDatabase database("parts-host");
  fit::synthetic::add_ddp(database.get(), truth, {1, 2, 4}, 3);
  const auto models = std::make_shared<const fit::Models>(fit::fit_models(database.get()));
  const fit::Predictor predictor = fit::make_predictor(models, "ddp", {});
  for (const std::int64_t workers : {3, 8, 64}) {
    const fit::Terms terms = predictor.central(workers);
    const TimeParts parts = simulated_parts(fit::simulated_lanes(predictor, workers));
    const double near_s = 1e-6 * terms.step_s();
    EXPECT_GT(parts.host_s, 0.2 * terms.step_s()) << workers;
    EXPECT_NEAR(parts.host_s, terms.host_s, near_s) << workers;
    EXPECT_NEAR(parts.compute_s, terms.compute_s, near_s) << workers;
    EXPECT_NEAR(parts.exposed_s, terms.exposed_s, near_s) << workers;
    EXPECT_NEAR(parts.other_s, terms.other_s, near_s) << workers;
    expect_sound(parts, terms.step_s(), "N = " + std::to_string(workers));
  }
}

}  // namespace
}  // namespace ddpprof::gui
