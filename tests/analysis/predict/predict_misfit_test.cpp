// Predictions from runs that no model of this room describes: what is said of them, and how far it is off.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <SQLiteCpp/Statement.h>

#include <cmath>
#include <map>

#include "analysis/fit/measured/measured.hpp"
#include "analysis/predict/predict.hpp"
#include "analysis/predict/predictor.hpp"
#include "simulator/stats/summary.hpp"
#include "tests/analysis/fit/synthetic.hpp"

namespace ddpprof::fit {
namespace {

using synthetic::TemporaryDatabase;
using synthetic::Truth;
using testing::HasSubstr;

PredictOptions options_for(std::vector<std::int64_t> workers) {
  PredictOptions options;
  options.workers = std::move(workers);
  return options;
}

double width(const Prediction& row) { return row.step_high_s / row.step_low_s; }

std::vector<Note> notes_of(const std::vector<Note>& all, const std::string& code) {
  std::vector<Note> found;
  for (const Note& note : all) {
    if (note.code == code) found.push_back(note);
  }
  return found;
}

TEST(PredictMisfit, LatencyThatOutgrowsTheRingStaysInTheInterval) {
  Truth truth;
  truth.nccl = true;
  truth.alpha_s = 2e-3;
  truth.latency_exponent = 1.3;
  TemporaryDatabase database("outgrows");
  synthetic::add_ddp(database.get(), truth, {1, 2, 4}, 1);
  double last = 1.0;
  PredictOptions options = options_for({8, 16, 32});
  options.gpus_per_node = 32;
  for (const Prediction& row : predict_all(database.get(), options).predictions) {
    const double expected_s = synthetic::true_step_s(truth, row.world_size);
    EXPECT_LE(row.step_low_s, expected_s) << row.world_size;
    EXPECT_GE(row.step_high_s, expected_s) << row.world_size << " " << row.note;
    EXPECT_GT(width(row), last) << "no wider at N = " << row.world_size;
    EXPECT_LT(width(row), 10.0) << row.world_size;
    last = width(row);
  }
}

TEST(PredictMisfit, ComputeSlowerAtTwoThanAnyLawStaysInTheInterval) {
  // Memory is the bottleneck: the second rank nearly triples the compute, and cores are shared only from the third on.
  Truth truth;
  truth.cores = 2;
  truth.contention_exponent = 1.5;
  TemporaryDatabase database("slower");
  synthetic::add_ddp(database.get(), truth, {1, 2, 4}, 1);
  for (const Prediction& row : predict_all(database.get(), options_for({3, 8, 16})).predictions) {
    const double expected_s = synthetic::true_step_s(truth, row.world_size);
    EXPECT_LE(row.step_low_s, expected_s * 1.01) << row.world_size;
    EXPECT_GE(row.step_high_s, expected_s * 0.99) << row.world_size << " " << row.note;
  }
}

TEST(PredictMisfit, IntervalsOfMoreRanksReachTheMeasuredStepsOfFewer) {
  Truth truth;
  truth.noise = 0.1;
  truth.cores = 4;
  truth.sharing_exponent = 0.3;  // far below the prior's 1.0
  TemporaryDatabase database("monotone");
  synthetic::add_ddp(database.get(), truth, {1, 2, 4, 8}, 3);
  const auto rows = predict_all(database.get(), options_for({1, 2, 3, 4, 6, 8, 9, 12, 16, 32})).predictions;
  double least_s = 0.0;
  for (const Prediction& row : rows) {
    EXPECT_GE(row.step_low_s, 0.999 * least_s) << row.world_size;
    // Predicted rows are limited by measured rows only.
    if (row.note.starts_with("measured")) least_s = std::max(least_s, row.step_low_s);
  }
}

TEST(PredictMisfit, RepeatsThatDifferWidenEveryInterval) {
  Truth truth;
  truth.nccl = true;
  truth.noise = 0.01;
  TemporaryDatabase one("repeatone"), three("repeatthree");
  synthetic::add_ddp(one.get(), truth, {1, 2, 4}, 1);
  std::vector<double> truth_s;
  for (const double speed : {1.0, 1.0 / 1.1, 1.0 / 1.21}) {
    truth.speed = speed;
    synthetic::add_ddp(three.get(), truth, {1, 2, 4}, 1);
    truth_s.push_back(synthetic::true_step_s(truth, 4));
  }
  const auto narrow = predict_all(one.get(), options_for({4, 8})).predictions;
  const auto wide = predict_all(three.get(), options_for({4, 8})).predictions;
  // At N = 4 the runs' medians lie 21 % apart: three runs' range covers the median of all runs 3 times in 4.
  EXPECT_LT(width(narrow[0]), 1.02);
  EXPECT_LT(wide[0].step_low_s, 1.02 * truth_s.front());
  EXPECT_GT(wide[0].step_high_s, 0.98 * truth_s.back());
  EXPECT_DOUBLE_EQ(wide[0].confidence, 0.75);
  EXPECT_DOUBLE_EQ(narrow[0].confidence, 0.9);
  EXPECT_GT(width(wide[1]), 1.1);
  EXPECT_LT(width(narrow[1]), 1.1);
}

TEST(PredictMisfit, AWideIntervalHasANote) {
  // No N beyond the two cores: how compute slows on 1024 ranks rests on the prior alone.
  Truth truth;
  truth.cores = 2;
  truth.alpha_s = 1e-8;
  truth.beta_s_per_byte = 1e-13;
  TemporaryDatabase database("order");
  synthetic::add_ddp(database.get(), truth, {1, 2}, 1);
  const PredictResult result = predict_all(database.get(), options_for({2, 1024}));
  EXPECT_THAT(result.predictions[1].note, HasSubstr("the interval spans a factor of"));
  EXPECT_THAT(result.predictions[0].note, testing::Not(HasSubstr("spans")));
  const auto notes = notes_of(result.notes, "prediction_uncertain");
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0].severity, "warning");
  EXPECT_THAT(notes[0].message, HasSubstr("ddp at N = 1024"));
}

TEST(PredictMisfit, AMeasuredRowShowsWhatWasMeasured) {
  Truth truth;
  truth.nccl = true;
  truth.alpha_s = 2e-3;
  truth.latency_exponent = 2.0;  // the fit is off; what was measured is not
  TemporaryDatabase database("parts");
  synthetic::add_ddp(database.get(), truth, {1, 2, 4, 8}, 1);
  SQLite::Statement query(database.get().sql(),
                          "SELECT m.world_size, st.compute_ns, st.communication_ns, st.exposed_ns, st.duration_ns FROM "
                          "step st JOIN shard sh ON sh.id = st.shard_id JOIN measurement m ON m.id = sh.measurement_id "
                          "WHERE m.world_size > 1 AND st.step = 3 AND sh.rank = 0");
  const auto rows = predict_all(database.get(), options_for({2, 4, 8})).predictions;
  for (const Prediction& row : rows) {
    ASSERT_TRUE(query.executeStep());  // without noise every step is like the next
    ASSERT_EQ(query.getColumn(0).getInt64(), row.world_size);
    EXPECT_NEAR(row.compute_s, 1e-9 * query.getColumn(1).getDouble(), 1e-8);
    EXPECT_NEAR(row.communication_s, 1e-9 * query.getColumn(2).getDouble(), 1e-8);
    EXPECT_NEAR(row.exposed_s, 1e-9 * query.getColumn(3).getDouble(), 1e-8);
    EXPECT_NEAR(row.step_s, 1e-9 * query.getColumn(4).getDouble(), 1e-8);
  }
  // The knee goes by them: the measured share of N = 4 passes 10 %, that of N = 2 does not.
  ASSERT_LT(rows[0].exposed_s, 0.1 * rows[0].step_s);
  ASSERT_GT(rows[1].exposed_s, 0.1 * rows[1].step_s);
  const auto models = std::make_shared<const Models>(fit_models(database.get()));
  KneeSearch search;
  search.shares = {0.5 * (rows[0].exposed_s / rows[0].step_s + rows[1].exposed_s / rows[1].step_s)};
  const auto found = knees(make_predictor(models, "ddp", options_for({8})), {}, search);
  ASSERT_TRUE(found && found->front().workers);
  EXPECT_GT(*found->front().workers, 2);
  EXPECT_LE(*found->front().workers, 4);
}

TEST(PredictMisfit, WorkloadsAreNotMixed) {
  Truth truth;
  truth.nccl = true;
  TemporaryDatabase database("workloads"), apart("apart");
  synthetic::add_ddp(apart.get(), truth, {1, 2, 4}, 1);
  Truth other = truth;
  other.batch = 64;
  other.speed = 0.5;
  synthetic::add_ddp(database.get(), other, {1, 2}, 1);
  database.get().sql().exec("UPDATE measurement SET model = 'other'");
  synthetic::add_ddp(database.get(), truth, {1, 2, 4}, 1);
  const auto mixed = predict_all(database.get(), options_for({4, 8}));
  const auto alone = predict_all(apart.get(), options_for({4, 8}));
  for (std::size_t i = 0; i < 2; ++i) EXPECT_DOUBLE_EQ(mixed.predictions[i].step_s, alone.predictions[i].step_s);
  const auto warnings = notes_of(fit_database(database.get()).notes, "fit_data_doubtful");
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_THAT(warnings[0].message, HasSubstr("fits and predictions use synthetic, batch 32 per worker"));
  EXPECT_THAT(warnings[0].message, HasSubstr("not used: other, batch 64 per worker"));
  EXPECT_THAT(warnings[0].message, HasSubstr("(measurements 1, 2)"));
  EXPECT_THAT(mixed.predictions[1].note, HasSubstr("the other workloads of the database are not used"));
}

}  // namespace
}  // namespace ddpprof::fit
