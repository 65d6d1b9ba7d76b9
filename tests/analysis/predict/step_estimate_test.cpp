// A prediction's figures alone, and both ways to simulate the draws behind its interval.
#include <gtest/gtest.h>

#include "analysis/predict/predict.hpp"
#include "analysis/predict/predictor.hpp"
#include "analysis/predict/step_model/ddp_terms.hpp"
#include "tests/analysis/fit/synthetic.hpp"

namespace ddpprof::fit {

namespace {

using synthetic::TemporaryDatabase;
using synthetic::Truth;

Truth truth_of(bool nccl) {
  Truth truth;
  truth.nccl = nccl;
  truth.noise = 0.03;
  truth.own_hosts = true;
  return truth;
}

// Expects that all samples are simulated at once, and that each gets the terms that its own simulation gives.
bool at_once(const Predictor& predictor, std::int64_t workers, const WhatIf& change) {
  const StepModel& model = predictor.prepared().model;
  const std::vector<Sample>& samples = predictor.prepared().samples.samples();
  const StepCase at = model.case_at(workers, change);
  if (!runs_at_once(at)) return false;
  std::vector<const StepParameters*> parameters;
  for (const Sample& sample : samples) parameters.push_back(&sample.parameters);
  const std::vector<Terms> all = model.terms(at, parameters);
  EXPECT_EQ(all.size(), samples.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Terms one = ddp_terms(at, samples[i].parameters);
    const double near = 1e-9 * one.step_s();
    EXPECT_NEAR(all[i].compute_s, one.compute_s, near);
    EXPECT_NEAR(all[i].exposed_s, one.exposed_s, near);
    EXPECT_NEAR(all[i].skew_s, one.skew_s, near);
    EXPECT_NEAR(all[i].other_s, one.other_s, near);
    EXPECT_NEAR(all[i].input_s, one.input_s, near);
    EXPECT_NEAR(all[i].communication_s, one.communication_s, near);
    EXPECT_NEAR(all[i].latency_s, one.latency_s, near);
    EXPECT_NEAR(all[i].bandwidth_s, one.bandwidth_s, near);
  }
  return true;
}

WhatIf change(const std::vector<std::string>& items) { return parse_what_if(items); }

TEST(StepEstimate, OfManyDrawsEqualsEachDrawsSimulation) {
  for (const bool nccl : {true, false}) {
    TemporaryDatabase database(nccl ? "estimate-together-nccl" : "estimate-together-gloo");
    synthetic::add_ddp(database.get(), truth_of(nccl), {1, 2, 4}, 3);
    const auto models = std::make_shared<const Models>(fit_models(database.get()));
    const Predictor predictor = make_predictor(models, "ddp", {});
    for (const std::int64_t workers : {1, 2, 3, 64, 4096}) {
      EXPECT_TRUE(at_once(predictor, workers, {})) << workers;
      for (const char* item :
           {"bandwidth=3x", "latency=2x", "bandwidth=1Gbit/s", "latency=20us", "compute=2x", "overlap=off",
            "compression=fp16", "accumulation=4", "batch_per_worker=64", "bucket_cap_mb=2", "precision=bf16"}) {
        EXPECT_TRUE(at_once(predictor, workers, change({item}))) << item;
      }
      for (const Term free : {Term::bandwidth, Term::latency, Term::skew, Term::compute, Term::input}) {
        WhatIf freed;
        freed.free = {free};
        EXPECT_TRUE(at_once(predictor, workers, freed)) << to_string(free);
      }
    }
    EXPECT_FALSE(at_once(predictor, 8, change({"strategy=zero2"})));
  }
}

// Ranks that crowd one host's cores: several forms compete for the draws.
TEST(StepEstimate, OfCrowdedRanksEqualsEachDrawsSimulation) {
  Truth truth;
  truth.cores = 2;
  TemporaryDatabase database("estimate-crowded");
  synthetic::add_ddp(database.get(), truth, {1, 2, 4}, 3);
  const auto models = std::make_shared<const Models>(fit_models(database.get()));
  EXPECT_GT(models->all_reduce.forms.size(), 2U);
  const Predictor predictor = make_predictor(models, "ddp", {});
  for (const std::int64_t workers : {2, 4, 8, 16}) EXPECT_TRUE(at_once(predictor, workers, {}));
}

TEST(StepEstimate, IsThePredictionToTheDigit) {
  for (const bool nccl : {true, false}) {
    TemporaryDatabase database(nccl ? "estimate-nccl" : "estimate-hosts");
    synthetic::add_ddp(database.get(), truth_of(nccl), {1, 2, 4}, 3);
    PredictOptions options;
    options.workers = {1, 2, 3, 4, 8, 64, 1000};
    options.what_if = change({"bandwidth=2x", "compute=0.5x"});
    const PredictResult result = predict_all(database.get(), options);
    const auto models = std::make_shared<const Models>(fit_models(database.get()));
    const Predictor predictor = make_predictor(models, "ddp", {});
    ASSERT_EQ(result.predictions.size(), options.workers.size());
    const std::vector<StepEstimate> curve = step_curve(predictor, options.workers);
    ASSERT_EQ(curve.size(), options.workers.size());
    for (std::size_t i = 0; i < curve.size(); ++i) {
      const Prediction& row = result.predictions[i];
      const StepEstimate out = predictor.estimate(row.world_size);
      EXPECT_EQ(curve[i].terms.step_s(), row.step_s) << row.world_size;
      EXPECT_EQ(curve[i].low_s, row.step_low_s) << row.world_size;
      EXPECT_EQ(curve[i].high_s, row.step_high_s) << row.world_size;
      EXPECT_EQ(out.terms.step_s(), row.step_s) << row.world_size;
      EXPECT_EQ(out.low_s, row.step_low_s) << row.world_size;
      EXPECT_EQ(out.high_s, row.step_high_s) << row.world_size;
    }
    for (const WhatIfRow& row : result.what_ifs) {
      const StepEstimate out = predictor.estimate(row.workers, options.what_if);
      EXPECT_EQ(out.terms.step_s(), row.changed_step_s) << row.workers;
      EXPECT_EQ(out.low_s, row.changed_low_s) << row.workers;
      EXPECT_EQ(out.high_s, row.changed_high_s) << row.workers;
    }
  }
}

TEST(StepEstimate, RefusesWhatAPredictionRefuses) {
  TemporaryDatabase database("estimate-refused");
  synthetic::add_ddp(database.get(), truth_of(true), {1, 2, 4}, 3);
  const auto models = std::make_shared<const Models>(fit_models(database.get()));
  const Predictor predictor = make_predictor(models, "ddp", {});
  EXPECT_THROW(predictor.estimate(1, change({"bandwidth=2x"})), std::invalid_argument);
  // Each N on its own, whichever thread takes it.
  const std::int64_t counts[] = {2, 4, 8, 2048};
  const std::vector<StepEstimate> curve = step_curve(predictor, counts, change({"strategy=ps", "servers=4"}));
  ASSERT_TRUE(curve[0].refusal);
  EXPECT_EQ(curve[0].refusal->reason, "4 servers are more than the number of workers");
  EXPECT_FALSE(curve[1].refusal);
  EXPECT_GT(curve[2].terms.step_s(), 0.0);
  EXPECT_TRUE(curve[3].refusal);
  TemporaryDatabase alone("estimate-alone");
  synthetic::add_ddp(alone.get(), truth_of(true), {1}, 3);
  const auto one = std::make_shared<const Models>(fit_models(alone.get()));
  EXPECT_THROW(make_predictor(one, "ddp", {}).estimate(8), std::invalid_argument);
}

TEST(StepEstimate, UsesAChangeWithoutItsText) {
  TemporaryDatabase database("estimate-fields");
  synthetic::add_ddp(database.get(), truth_of(true), {1, 2, 4}, 3);
  const auto models = std::make_shared<const Models>(fit_models(database.get()));
  const Predictor predictor = make_predictor(models, "ddp", {});
  WhatIf faster;
  faster.compute_speed = 4.0;
  EXPECT_LT(predictor.estimate(4, faster).terms.step_s(), 0.8 * predictor.estimate(4).terms.step_s());
  EXPECT_LT(predictor.estimate(8, faster).low_s, 0.8 * predictor.estimate(8).low_s);
}

// With cores of its own compute is slowed by what runs beside it: no recurrence then, one simulation a draw.
TEST(StepEstimate, OfDedicatedRanksIsThePrediction) {
  Truth truth;
  truth.cores = 2;
  TemporaryDatabase database("estimate-dedicated");
  synthetic::add_ddp(database.get(), truth, {1, 2, 4}, 3);
  PredictOptions options;
  options.workers = {8, 16};
  options.dedicated = true;
  const PredictResult result = predict_all(database.get(), options);
  const auto models = std::make_shared<const Models>(fit_models(database.get()));
  const Predictor predictor = make_predictor(models, "ddp", options);
  ASSERT_EQ(result.predictions.size(), 2U);
  for (const Prediction& row : result.predictions) {
    EXPECT_EQ(predictor.estimate(row.world_size).terms.step_s(), row.step_s);
    EXPECT_EQ(predictor.estimate(row.world_size).high_s, row.step_high_s);
  }
}

// The gain of free bandwidth is that of a link with unlimited bandwidth, although latency is then not hidden.
TEST(StepEstimate, FreeBandwidthIsALinkWithoutEnd) {
  Truth truth = truth_of(false);
  truth.alpha_s = 1e-3;
  truth.beta_s_per_byte = 8e-9;
  TemporaryDatabase database("estimate-free");
  synthetic::add_ddp(database.get(), truth, {1, 2, 4}, 3);
  const auto models = std::make_shared<const Models>(fit_models(database.get()));
  const Predictor predictor = make_predictor(models, "ddp", {});
  for (const std::int64_t workers : {8, 32}) {
    const double whole_s = predictor.estimate(workers).terms.step_s();
    const double endless_s = predictor.estimate(workers, change({"bandwidth=1000000x"})).terms.step_s();
    for (const TermGain& gain : gains(predictor, workers)) {
      if (gain.term == Term::bandwidth) {
        EXPECT_NEAR(gain.share, 1.0 - endless_s / whole_s, 2e-3) << workers;
      }
    }
  }
}

}  // namespace
}  // namespace ddpprof::fit
