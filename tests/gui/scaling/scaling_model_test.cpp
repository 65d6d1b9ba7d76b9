// The page's model: changes of knobs become answers, the newest answer is shown, and nothing blocks.
#include "gui/models/scaling/scaling_model.hpp"

#include <gtest/gtest.h>

#include <QElapsedTimer>
#include <QSignalSpy>
#include <QTest>

#include "tests/gui/scaling/files.hpp"

namespace ddpprof::gui::whatif {
namespace {

constexpr int patience_ms = 60'000;

bool settles(ScalingModel& model) {
  return QTest::qWaitFor([&] { return !model.busy() && model.snapshot().complete; }, patience_ms);
}

TEST(ScalingModel, AnswersTheKnobsQuestion) {
  const TestFile file;
  const auto opened = file.open();
  ScalingModel model;
  model.set_file(opened);
  ASSERT_TRUE(settles(model));
  EXPECT_EQ(model.knobs(), measured_knobs(*opened, "ddp"));
  EXPECT_FALSE(model.snapshot().changed);
  Knobs knobs = model.knobs();
  knobs.bandwidth = 4.0;
  knobs.workers = 16;
  model.set_knobs(knobs);
  ASSERT_TRUE(settles(model));
  const Snapshot& shot = model.snapshot();
  ASSERT_TRUE(shot.changed);
  const fit::Predictor predictor = fit::make_predictor(opened->models, "ddp", opened->predict);
  const fit::StepEstimate there = predictor.estimate(16, what_if(knobs, model.measured()));
  EXPECT_EQ(shot.changed->at(16)->step_s.value, there.terms.step_s());
  EXPECT_EQ(shot.changed->at(16)->step_s.high, there.high_s);
  EXPECT_EQ(model.levers_workers(), 16);
  EXPECT_EQ(model.levers().size(), 9U);
  EXPECT_TRUE(model.are_levers_current());
  EXPECT_TRUE(model.tables().has_what_if);
  EXPECT_EQ(model.tables().predictions.rows.size(), model.tables_workers().size());
}

TEST(ScalingModel, ManyMovesEndAtTheNewest) {
  const TestFile file(slow_links(false));
  const auto opened = file.open();
  ScalingModel model;
  model.set_file(opened);
  QElapsedTimer blocked;
  qint64 longest_ns = 0;
  Knobs knobs = model.knobs();
  for (int i = 1; i <= 50; ++i) {
    knobs.bandwidth = 1.0 + 0.1 * i;
    blocked.start();
    model.set_knobs(knobs);
    longest_ns = std::max(longest_ns, blocked.nsecsElapsed());
    QCoreApplication::processEvents();
  }
  ASSERT_TRUE(settles(model));
  EXPECT_EQ(model.snapshot().knobs, knobs);
  EXPECT_EQ(model.snapshot().change.bandwidth.factor, knobs.bandwidth);
  RecordProperty("longest_set_knobs_us", static_cast<int>(longest_ns / 1000));
}

TEST(ScalingModel, AnotherStrategyHasItsOwnMeasuredValues) {
  fit::synthetic::Truth truth;
  truth.cores = 4;
  const TestFile file(truth, {1, 2, 4}, {1, 2, 4});
  const auto opened = file.open();
  ScalingModel model;
  model.set_file(opened);
  Knobs knobs = model.knobs();
  knobs.bucket_cap_mb = 4.0;
  knobs.overlap = false;
  model.set_knobs(knobs);
  knobs.strategy = "dp";
  model.set_knobs(knobs);
  EXPECT_EQ(model.measured().strategy, "dp");
  // DataParallel has no buckets and no overlap, so the question must not contain them.
  EXPECT_TRUE(what_if_items(model.knobs(), model.measured()).empty());
  ASSERT_TRUE(settles(model));
  EXPECT_EQ(model.snapshot().answer->prediction.strategy, "dp");
  EXPECT_EQ(model.snapshot().measured.size(), 3U);
}

TEST(ScalingModel, ALargerNWidensTheAxis) {
  const TestFile file;
  ScalingModel model;
  model.set_file(file.open());
  EXPECT_EQ(model.limit(), 64);
  Knobs knobs = model.knobs();
  knobs.workers = 700;
  model.set_knobs(knobs);
  EXPECT_EQ(model.limit(), 1024);
  model.set_limit(64);
  EXPECT_EQ(model.limit(), 1024);  // never below the chosen N
  ASSERT_TRUE(settles(model));
  EXPECT_EQ(model.snapshot().predicted.points.back().workers, 1024);
  EXPECT_LE(model.snapshot().predicted.points.size(), 64U);
}

TEST(ScalingModel, AnotherMachineKeepsTheMeasuredOneBesideIt) {
  const TestFile file;
  ScalingModel model;
  model.set_file(file.open());
  ASSERT_TRUE(settles(model));
  const double before = model.snapshot().predicted.at(64)->step_s.value;
  EXPECT_FALSE(model.snapshot().own);
  Knobs knobs = model.knobs();
  knobs.gpus_per_node = 8;
  model.set_knobs(knobs);
  ASSERT_TRUE(settles(model));
  ASSERT_TRUE(model.snapshot().own);
  EXPECT_EQ(model.snapshot().own->at(64)->step_s.value, before);
}

// Even if the knobs changed meanwhile, all tables belong to one state, that of the snapshot.
TEST(ScalingModel, TheTablesUseTheQuestionOfTheirSnapshot) {
  const TestFile file;
  const auto opened = file.open();
  Snapshot shot;
  shot.knobs = shot.measured_knobs = measured_knobs(*opened, "ddp");
  shot.knobs.bandwidth = 2.0;
  shot.knobs.gpus_per_node = 8;
  shot.knobs.dedicated = true;
  shot.knobs.workers = 48;
  shot.limit = 128;
  shot.change = what_if(shot.knobs, shot.measured_knobs);
  const fit::PredictOptions asked = tables_question(*opened, shot);
  EXPECT_EQ(asked.gpus_per_node, 8);
  EXPECT_TRUE(asked.dedicated);
  EXPECT_EQ(asked.workers, (std::vector<std::int64_t>{1, 2, 4, 8, 16, 32, 48, 64, 128}));
  EXPECT_EQ(asked.what_if.said, std::vector<std::string>{"bandwidth=2x"});
}

TEST(ScalingModel, WithoutAFileThereIsNoAnswer) {
  const TestFile file;
  ScalingModel model;
  model.set_file(file.open());
  QSignalSpy changed(&model, &ScalingModel::snapshot_changed);
  model.set_file(nullptr);
  EXPECT_EQ(changed.count(), 1);
  // Simulations for the previous file must not arrive.
  QCoreApplication::processEvents();
  EXPECT_FALSE(QTest::qWaitFor([&] { return changed.count() > 1; }, 300));
  EXPECT_TRUE(model.snapshot().predicted.points.empty());
  EXPECT_EQ(model.command(), "");
}

}  // namespace
}  // namespace ddpprof::gui::whatif
