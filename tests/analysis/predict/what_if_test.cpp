// Answers to what-if questions, compared with runs of the changed job: the synthetic truth is simulated again with the
// change.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <ostream>

#include "analysis/predict/predict.hpp"
#include "tests/analysis/fit/synthetic.hpp"

namespace ddpprof::fit {
namespace {

using synthetic::TemporaryDatabase;
using synthetic::Truth;

WhatIf change(const std::vector<std::string>& items) { return parse_what_if(items); }

struct Case {
  std::string name;
  std::vector<std::string> items;
  std::function<void(Truth&)> make;
  double longer_s = 0.0;  // what the played step does not hold
};

void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }

void scale_compute(Truth& truth, double factor) {
  for (double* time : {&truth.forward_s, &truth.optimizer_s, &truth.copy_back_s_per_byte}) *time *= factor;
  for (double& ready_s : truth.ready_s) ready_s *= factor;
}

class WhatIfTruth : public testing::TestWithParam<Case> {};

TEST_P(WhatIfTruth, IsWhatARunWithTheChangeTakes) {
  Truth truth;
  truth.nccl = true;
  truth.alpha_s = 1e-3;
  TemporaryDatabase database("what-if-" + GetParam().name);
  synthetic::add_ddp(database.get(), truth, {1, 2, 4}, 1);
  PredictOptions options;
  options.workers = {4, 8, 32};
  options.gpus_per_node = 32;
  options.what_if = change(GetParam().items);
  const PredictResult result = predict_all(database.get(), options);
  Truth changed = truth;
  GetParam().make(changed);
  ASSERT_EQ(result.what_ifs.size(), 3U);
  for (const WhatIfRow& row : result.what_ifs) {
    const double expected_s = synthetic::true_step_s(changed, row.workers) + GetParam().longer_s;
    EXPECT_NEAR(row.changed_step_s / expected_s, 1.0, 0.02) << row.workers;
    EXPECT_LE(row.changed_low_s, expected_s * 1.005) << row.workers;
    EXPECT_GE(row.changed_high_s, expected_s * 0.995) << row.workers;
    EXPECT_NEAR(row.step_s / synthetic::true_step_s(truth, row.workers), 1.0, 0.02) << row.workers;
    EXPECT_LE(row.speedup_low, row.speedup);
    EXPECT_GE(row.speedup_high, row.speedup);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Changes, WhatIfTruth,
    testing::Values(
        Case{"bandwidth", {"bandwidth=2x"}, [](Truth& truth) { truth.beta_s_per_byte /= 2.0; }},
        Case{"bandwidth_value", {"bandwidth=32Gbit/s"}, [](Truth& truth) { truth.beta_s_per_byte = 1.0 / 4e9; }},
        Case{"latency", {"latency=0.25x"}, [](Truth& truth) { truth.alpha_s /= 4.0; }},
        Case{"latency_value", {"latency=3ms"}, [](Truth& truth) { truth.alpha_s = 3e-3; }},
        Case{"compute", {"compute=2x"}, [](Truth& truth) { scale_compute(truth, 0.5); }},
        Case{"slow_compute_fast_link",
             {"compute=0.5x", "bandwidth=4x"},
             [](Truth& truth) {
               scale_compute(truth, 2.0);
               truth.beta_s_per_byte /= 4.0;
             }},
        Case{"overlap", {"overlap=off"}, [](Truth& truth) { truth.ready_s.assign(3, truth.ready_s.back()); }},
        Case{"compression",
             {"compression=fp16"},
             [](Truth& truth) {
               for (std::int64_t& bytes : truth.bucket_bytes) bytes /= 2;
               truth.copy_back_s_per_byte *= 2.0;  // what is copied back has its own precision again
             }},
        // 1 + 8 MiB reach the cap, 4 MiB follow alone.
        Case{"bucket_cap",
             {"bucket_cap_mb=9"},
             [](Truth& truth) {
               truth.bucket_bytes = {9 << 20, 4 << 20};
               truth.ready_s = {0.06, 0.08};
             }},
        Case{"one_bucket",
             {"bucket_cap_mb=100"},
             [](Truth& truth) {
               truth.bucket_bytes = {13 << 20};
               truth.ready_s = {0.08};
             }},
        Case{"batch",
             {"batch_per_worker=64"},
             [](Truth& truth) {
               truth.data_s *= 2.0;
               truth.forward_s *= 2.0;
               for (double& ready_s : truth.ready_s) ready_s *= 2.0;
             }},
        Case{"accumulation", {"accumulation=4"}, [](Truth&) {}, 3.0 * (0.001 + 0.04 + 0.08)}),
    [](const auto& one) { return one.param.name; });

TEST(WhatIf, SpeedupIsOfTheThroughput) {
  Truth truth;
  truth.nccl = true;
  TemporaryDatabase database("what-if-throughput");
  synthetic::add_ddp(database.get(), truth, {1, 2, 4}, 1);
  PredictOptions options;
  options.workers = {16};
  options.what_if = change({"accumulation=4"});
  const WhatIfRow row = predict_all(database.get(), options).what_ifs.at(0);
  // Four times the samples in less than four times the time: gradients travel once.
  EXPECT_GT(row.changed_step_s, 3.0 * row.step_s);
  EXPECT_NEAR(row.speedup, 4.0 * row.step_s / row.changed_step_s, 1e-9);
  EXPECT_GT(row.speedup, 1.0);
  EXPECT_NEAR(row.changed_throughput, 16.0 * 32.0 * 4.0 / row.changed_step_s, 1e-6);
}

// Time outside of every phase may be the loading of samples or logging: an accumulation repeats the first only.
TEST(WhatIf, TimeOutsideOfPhasesMayGrowWithTheSamples) {
  Truth truth;
  truth.nccl = true;
  truth.outside_s = 0.5;  // four times the rest
  TemporaryDatabase database("what-if-outside");
  synthetic::add_ddp(database.get(), truth, {1, 2, 4}, 1);
  PredictOptions options;
  options.workers = {4};
  options.what_if = change({"accumulation=4"});
  const WhatIfRow row = predict_all(database.get(), options).what_ifs.at(0);
  const double logging_s = row.step_s + 3.0 * (0.001 + 0.04 + 0.08), loading_s = logging_s + 3.0 * truth.outside_s;
  EXPECT_NEAR(row.changed_step_s, 0.5 * (logging_s + loading_s), 0.02 * loading_s);
  EXPECT_LT(row.changed_low_s, logging_s + 0.1 * (loading_s - logging_s));
  EXPECT_GT(row.changed_high_s, loading_s - 0.1 * (loading_s - logging_s));
  EXPECT_LT(row.speedup_low, 1.15) << "nothing is gained if all of it grows";
  EXPECT_GT(row.speedup_high, 2.0);
}

// Regression: a script that waits or logs between its steps. Its time before the forward was compute.
TEST(WhatIf, TimeBeforeTheForwardIsNoCompute) {
  Truth truth;
  truth.nccl = true;
  truth.data_s = 0.5;
  TemporaryDatabase database("what-if-before");
  synthetic::add_ddp(database.get(), truth, {1, 2, 4}, 1);
  database.get().sql().exec("UPDATE step SET data_wait_ns = 0");  // the time stays, outside of every phase
  PredictOptions options;
  options.workers = {4, 8};
  options.what_if = change({"compute=2x"});
  const PredictResult result = predict_all(database.get(), options);
  Truth changed = truth;
  scale_compute(changed, 0.5);
  ASSERT_EQ(result.what_ifs.size(), 2U);
  for (const WhatIfRow& row : result.what_ifs) {
    EXPECT_NEAR(row.changed_step_s / synthetic::true_step_s(changed, row.workers), 1.0, 0.02) << row.workers;
    EXPECT_NEAR(row.step_s / synthetic::true_step_s(truth, row.workers), 1.0, 0.02) << row.workers;
  }
  for (const Prediction& row : result.predictions) {
    EXPECT_GT(row.other_s, 0.49) << row.world_size;
    EXPECT_LT(row.compute_s, 0.2) << row.world_size;
  }
}

// Regression: phases that are longer in sum than the step gave a negative part of it, and a speedup of more than 2 from
// compute that is twice as fast.
TEST(WhatIf, OverlappingPhasesShortenCompute) {
  Truth truth;
  truth.nccl = true;
  TemporaryDatabase database("what-if-overlap");
  synthetic::add_ddp(database.get(), truth, {1, 2, 4}, 1);
  database.get().sql().exec("UPDATE step SET duration_ns = 0.97 * duration_ns");
  PredictOptions options;
  options.workers = {1, 8};
  options.what_if = change({"compute=2x"});
  const PredictResult result = predict_all(database.get(), options);
  ASSERT_EQ(result.what_ifs.size(), 2U);
  for (const WhatIfRow& row : result.what_ifs) EXPECT_LE(row.speedup, 2.0 + 1e-9) << row.workers;
  for (const Prediction& row : result.predictions) EXPECT_GE(row.other_s, 0.0) << row.world_size;
}

// Regression: a model in bf16 was offered bf16 again, with a gain.
TEST(WhatIf, AModelInHalvesIsNotHalvedAgain) {
  Truth truth;
  truth.nccl = true;
  TemporaryDatabase database("what-if-halves");
  synthetic::add_ddp(database.get(), truth, {1, 2, 4}, 1);
  database.get().sql().exec("UPDATE measurement SET parameter_count = parameter_bytes / 2");
  for (const char* item : {"precision=bf16", "compression=fp16"}) {
    PredictOptions options;
    options.workers = {4};
    options.what_if = change({item});
    const PredictResult result = predict_all(database.get(), options);
    EXPECT_TRUE(result.what_ifs.empty()) << item;
    EXPECT_THAT(result.notes, testing::Contains(testing::Field(
                                  &Note::message, testing::HasSubstr("the parameters have 2 bytes each"))))
        << item;
  }
}

TEST(WhatIf, TheBindingTermHasTheLargestGain) {
  Truth truth;
  truth.nccl = true;
  truth.beta_s_per_byte = 2e-8;  // 13 MiB take half a second: bandwidth
  TemporaryDatabase database("what-if-why");
  synthetic::add_ddp(database.get(), truth, {1, 2, 4}, 1);
  PredictOptions options;
  options.workers = {16};
  options.what_if = change({"bandwidth=1000x"});
  const PredictResult result = predict_all(database.get(), options);
  EXPECT_EQ(result.what_ifs.at(0).bound, "bandwidth");
  EXPECT_EQ(result.what_ifs.at(0).changed_bound, "compute");
  ASSERT_EQ(result.why.size(), 2U);
  const auto share = [](const WhyRow& row, Term term) {
    for (const TermGain& gain : row.gains)
      if (gain.term == term) return gain.share;
    return -1.0;
  };
  Truth free = truth;
  free.beta_s_per_byte = 0.0;
  const double left = synthetic::true_step_s(free, 16) / synthetic::true_step_s(truth, 16);
  EXPECT_NEAR(share(result.why[0], Term::bandwidth), 1.0 - left, 0.01);
  free = truth;
  scale_compute(free, 0.0);
  const double without_compute = synthetic::true_step_s(free, 16) / synthetic::true_step_s(truth, 16);
  EXPECT_NEAR(share(result.why[0], Term::compute), 1.0 - without_compute, 0.01);
  EXPECT_NEAR(share(result.why[0], Term::input), truth.data_s / synthetic::true_step_s(truth, 16), 0.005);
}

TEST(WhatIf, SharedCoresAreATermOfTheirOwn) {
  Truth truth;
  truth.cores = 2;
  TemporaryDatabase database("what-if-sharing");
  synthetic::add_ddp(database.get(), truth, {1, 2, 4, 8}, 1);
  PredictOptions options;
  options.workers = {16};
  const PredictResult result = predict_all(database.get(), options);
  EXPECT_EQ(result.why.at(0).bound, "sharing");
}

TEST(WhatIf, OtherStrategiesAreSimulatedFromTheMeasuredStep) {
  Truth truth;
  truth.nccl = true;
  truth.beta_s_per_byte = 2e-8;  // links take most of the step
  TemporaryDatabase database("what-if-strategy");
  synthetic::add_ddp(database.get(), truth, {1, 2, 4}, 1);
  const auto with = [&](const std::vector<std::string>& items) {
    PredictOptions options;
    options.workers = {16};
    options.what_if = change(items);
    return predict_all(database.get(), options).what_ifs.at(0);
  };
  const WhatIfRow zero1 = with({"strategy=zero1"}), zero3 = with({"strategy=zero3"});
  // ZeRO-1 sends what DDP sends and splits the optimizer; ZeRO-3 gathers the parameters twice on top.
  EXPECT_NEAR(zero1.changed_step_s / zero1.step_s, 1.0, 0.1);
  EXPECT_GT(zero3.changed_step_s, 1.25 * zero1.changed_step_s);
  EXPECT_LT(zero3.changed_step_s, 1.5 * zero1.changed_step_s);
  // One server takes in and gives out all gradients of 16 workers: 2 · 16 · 13 MiB over its link.
  const WhatIfRow server = with({"strategy=ps"}), four = with({"strategy=ps", "servers=4"});
  EXPECT_GT(server.changed_step_s, 2.0 * 16.0 * (13 << 20) * truth.beta_s_per_byte);
  EXPECT_LT(four.changed_step_s, server.changed_step_s);
  EXPECT_LT(with({"strategy=async-ps"}).changed_step_s, server.changed_step_s);
}

TEST(WhatIf, AStrategyWithoutTheChangeIsNamed) {
  Truth truth;
  TemporaryDatabase database("what-if-dp");
  synthetic::add_ddp(database.get(), truth, {1, 2, 4}, 1);
  synthetic::add_dp(database.get(), truth, {1, 2, 4}, 1);
  PredictOptions options;
  options.workers = {8};
  options.what_if = change({"bucket_cap_mb=50"});
  const PredictResult result = predict_all(database.get(), options);
  ASSERT_EQ(result.what_ifs.size(), 1U);
  EXPECT_EQ(result.what_ifs[0].strategy, "ddp");
  EXPECT_THAT(result.notes, testing::Contains(testing::Field(&Note::message, "dp: DataParallel has no buckets")));
  options.what_if = change({"bandwidth=2x", "compute=2x"});
  for (const WhatIfRow& row : predict_all(database.get(), options).what_ifs)
    EXPECT_GT(row.speedup, 1.2) << row.strategy;
}

TEST(WhatIf, MoreServersThanWorkersAreRefusedByName) {
  Truth truth;
  truth.nccl = true;
  TemporaryDatabase database("what-if-servers");
  synthetic::add_ddp(database.get(), truth, {1, 2}, 1);
  PredictOptions options;
  options.workers = {2, 8};
  options.what_if = change({"strategy=ps", "servers=4"});
  const PredictResult result = predict_all(database.get(), options);
  EXPECT_EQ(result.what_ifs.size(), 1U);
  EXPECT_THAT(result.notes, testing::Contains(testing::Field(
                                &Note::message, "ddp at N = 2: 4 servers are more than the number of workers")));
}

TEST(WhatIf, ChangesOfShardsAreNotThoseOfDdp) {
  TemporaryDatabase database("what-if-shards");
  synthetic::add_ddp(database.get(), Truth(), {1, 2}, 1);
  PredictOptions options;
  options.workers = {8};
  for (const char* item : {"reshard_after_forward=off", "prefetch=off", "replicate=2", "strategy=ddp"}) {
    options.what_if = change({item});
    const PredictResult result = predict_all(database.get(), options);
    EXPECT_TRUE(result.what_ifs.empty()) << item;
    EXPECT_THAT(result.notes, testing::Contains(testing::Field(&Note::message, testing::HasSubstr("(FSDP)")))) << item;
  }
}

TEST(WhatIf, UnreadableTextsNameTheExpectedValue) {
  const auto refusal = [](const std::string& item) {
    try {
      parse_what_if(std::vector{item});
    } catch (const std::invalid_argument& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  using testing::HasSubstr;
  EXPECT_THAT(refusal("bandwith=2x"), HasSubstr("expected a key of bucket_cap_mb, compression"));
  EXPECT_THAT(refusal("bandwidth"), HasSubstr("expected KEY=VALUE"));
  EXPECT_THAT(refusal("bandwidth=2"), HasSubstr("bandwidth=25Gbit/s"));
  EXPECT_THAT(refusal("bandwidth=2 parsecs"), HasSubstr("bandwidth=25Gbit/s"));
  EXPECT_THAT(refusal("bandwidth=-2x"), HasSubstr("bandwidth=25Gbit/s"));
  EXPECT_THAT(refusal("bandwidth=infx"), HasSubstr("bandwidth=25Gbit/s"));
  EXPECT_THAT(refusal("latency=5"), HasSubstr("latency=20us"));
  EXPECT_THAT(refusal("compute=2"), HasSubstr("compute=2x"));
  EXPECT_THAT(refusal("bucket_cap_mb=0"), HasSubstr("MiB above 0"));
  EXPECT_THAT(refusal("accumulation=1.5"), HasSubstr("a whole number"));
  EXPECT_THAT(refusal("overlap=on"), HasSubstr("one of off"));
  EXPECT_THAT(refusal("strategy=magic"), HasSubstr("zero3"));
  EXPECT_THAT(refusal("prefetch=2"), HasSubstr("one of on, off"));
  EXPECT_THAT(refusal("replicate=0"), HasSubstr("a whole number"));
  EXPECT_THAT(refusal("servers=2"), HasSubstr("strategy=ps or strategy=async-ps"));
  EXPECT_THROW(parse_what_if(std::vector<std::string>{"compute=2x", "compute=3x"}), std::invalid_argument);
  EXPECT_THROW(parse_what_if(std::vector<std::string>{"compression=fp16", "precision=bf16"}), std::invalid_argument);
  EXPECT_DOUBLE_EQ(*change({"bandwidth=25Gbit/s"}).bandwidth.value, 3.125e9);
  EXPECT_DOUBLE_EQ(*change({"latency=20 us"}).latency.value, 20e-6);
}

}  // namespace
}  // namespace ddpprof::fit
