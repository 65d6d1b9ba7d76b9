// Strategies against closed forms.
#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>
#include <vector>

#include "simulator/stats/random.hpp"
#include "simulator/step/ddp_step.hpp"
#include "simulator/strategy/parameter_server.hpp"
#include "simulator/strategy/zero_step.hpp"

namespace ddpprof::strategy {
namespace {

// Two ranks over 1 GB/s: a gather or a reduce-scatter takes half a nanosecond a byte.
ZeroStep two_ranks(int stage, std::size_t blocks, double parameter_bytes) {
  ZeroStep step;
  step.blocks.assign(blocks, {0.1, 0.2, parameter_bytes});
  step.stage = stage;
  step.workers = 2;
  step.link = {0.0, 1e-9, 0.0};
  return step;
}

TEST(Zero, Stage0IsTheClosedRecurrenceOfDdp) {
  stats::Random random(5);
  for (int round = 0; round < 100; ++round) {
    ZeroStep zero;
    const std::uint64_t blocks = 1 + random.below(20);
    for (std::uint64_t i = 0; i < blocks; ++i)
      zero.blocks.push_back({random.uniform(), random.uniform(), std::floor(1e7 * random.uniform())});
    zero.optimizer_s = random.uniform();
    zero.data_s = 0.1 * random.uniform();
    zero.workers = static_cast<std::int64_t>(2 + random.below(30));
    zero.micro_batches = static_cast<std::int64_t>(1 + random.below(3));
    zero.link = {1e-4, 1e-8, 1e-10};

    step::DdpStep ddp;
    ddp.accumulation = zero.micro_batches;
    ddp.data_s = zero.data_s;
    ddp.optimizer_s = zero.optimizer_s;
    std::vector<step::Gradient> gradients;
    std::vector<double> ready;
    for (auto block = zero.blocks.rbegin(); block != zero.blocks.rend(); ++block) {
      ddp.forward_s += block->forward_s;
      ddp.backward_s += block->backward_s;
      ready.push_back(ddp.backward_s);
      gradients.push_back({static_cast<std::int64_t>(block->parameter_bytes), 0, 0});
    }
    std::vector<std::int64_t> order(gradients.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int64_t>(i);
    for (const auto& bucket : step::rebuilt_buckets(gradients, order, zero.buckets))
      ddp.buckets.push_back(
          {ready[static_cast<std::size_t>(bucket.back())],
           collective::ring(zero.workers, static_cast<double>(step::bucket_bytes(gradients, bucket)), zero.link), 0.0});
    EXPECT_NEAR(simulate(zero).step_s, step::simulate(ddp).step_s, 1e-9) << round;
  }
}

TEST(Zero, OnlyTheLastBucketIsExposed) {
  ZeroStep step = two_ranks(0, 4, 1e7);
  step.buckets = {10'000'000, 10'000'000};
  EXPECT_NEAR(simulate(step).exposed_s, 1e7 * 1e-9, 1e-9);
}

TEST(Zero, WaitingForInputIsCompute) {
  ZeroStep step;
  step.blocks = {{0.1, 0.2, 0.0}};
  step.micro_batches = 2;
  step.data_s = 1.0;
  EXPECT_NEAR(simulate(step).step_s, 2.6, 1e-9);
  EXPECT_NEAR(simulate(step).compute_s, 2.6, 1e-9);
}

TEST(Zero, Stages1And2GatherAllParametersAfterTheirShareOfTheOptimizer) {
  for (const int stage : {1, 2}) {
    ZeroStep step = two_ranks(stage, 4, 1e8);
    step.optimizer_s = 0.5;
    const ZeroOutcome outcome = simulate(step);
    // The last reduce-scatter, half of the optimizer, then the gather of 400 MB.
    EXPECT_NEAR(outcome.step_s, 4 * 0.3 + 0.05 + 0.25 + 0.2, 1e-9);
    EXPECT_NEAR(outcome.exposed_s, 0.05 + 0.2, 1e-9);
  }
}

TEST(Zero, Stage2ReducesEveryMicroBatch) {
  // A reduce-scatter takes 0.4 s: four of them a micro-batch outlast its backward and the next one's forward.
  ZeroStep step = two_ranks(2, 4, 8e8);
  step.micro_batches = 3;
  const double gather_s = 1.6;
  EXPECT_NEAR(simulate(step).step_s, 0.4 + 0.2 + 12 * 0.4 + gather_s, 1e-9);
  step.stage = 1;  // once, from the last backward on
  EXPECT_NEAR(simulate(step).step_s, 2 * 1.2 + 0.4 + 0.2 + 4 * 0.4 + gather_s, 1e-9);
}

TEST(Zero, Stage3ExposesTheFirstGatherAndTheLastReduceScatter) {
  // 50 ms each, hidden behind 100 ms of the block before; the backward's first gather is hidden too.
  EXPECT_NEAR(simulate(two_ranks(3, 6, 1e8)).step_s, 6 * 0.3 + 0.05 + 0.05, 1e-9);
}

TEST(Zero, Stage3GathersNoFurtherAheadThanOneBlock) {
  // A gather or a reduce-scatter of a block takes 0.2 s. The first block, which has no parameters, computes for 1 s.
  // Only the second block's gather is hidden behind it: the third's waits for it, the fourth's for the third's.
  ZeroStep step = two_ranks(3, 4, 4e8);
  for (Block& block : step.blocks) block.forward_s = block.backward_s = 0.0;
  step.blocks[0] = {1.0, 0.0, 0.0};
  // Forward until 1.4; three gathers and three reduce-scatters for the backward.
  EXPECT_NEAR(simulate(step).step_s, 1.4 + 6 * 0.2, 1e-9);
}

TEST(Zero, StepsThatCannotBeAreRefused) {
  const ZeroStep step = two_ranks(0, 2, 0.0);
  EXPECT_THROW(simulate(ZeroStep{}), std::invalid_argument);
  ZeroStep bad = step;
  bad.workers = 0;
  EXPECT_THROW(simulate(bad), std::invalid_argument);
  bad = step;
  bad.stage = 4;
  EXPECT_THROW(simulate(bad), std::invalid_argument);
  bad = step;
  bad.blocks[0].forward_s = -1.0;
  EXPECT_THROW(simulate(bad), std::invalid_argument);
}

TEST(ParameterServer, TogetherEverybodyWaitsForTheServersLink) {
  // Compute, N pushes through one link, N updates, N pulls.
  ParameterServerJob job;
  job.compute_s.assign(4, 0.5);
  job.gradient_bytes = 1e6;
  job.apply_s = 0.01;
  job.link = {1e-3, 1e-8, 0.0};  // 10 ms a push
  const ParameterServerOutcome outcome = simulate(job);
  EXPECT_NEAR(outcome.step_s, 0.5 + 2 * 1e-3 + 2 * 4 * 0.01 + 4 * 0.01, 1e-9);
  // Four servers share the bytes: their links together are four times as fast.
  job.servers = 4;
  EXPECT_NEAR(simulate(job).step_s, 0.5 + 2 * 1e-3 + 2 * 0.01 + 0.01, 1e-9);
}

TEST(ParameterServer, AtTheirOwnPaceWorkersWaitForTheirOwnUpdate) {
  ParameterServerJob job;
  job.compute_s.assign(8, 0.5);
  job.apply_s = 1e-3;
  job.asynchronous = true;
  job.steps = 100;
  const ParameterServerOutcome outcome = simulate(job);
  EXPECT_NEAR(outcome.step_s, 0.501, 0.01);
}

TEST(ParameterServer, ASlowWorkerHoldsUpTheOthersOnlyWhenTheyWait) {
  ParameterServerJob job;
  job.compute_s = {0.1, 0.1, 0.1, 0.4};
  job.apply_s = 1e-6;
  job.steps = 200;
  EXPECT_NEAR(4 / simulate(job).step_s, 4 / 0.4, 0.1);
  job.asynchronous = true;
  const ParameterServerOutcome outcome = simulate(job);
  EXPECT_NEAR(4 / outcome.step_s, 3 / 0.1 + 1 / 0.4, 0.7);
  EXPECT_GE(outcome.exposed_s, 0.0);
}

TEST(ParameterServer, AWorkersOwnLinkCarriesItsWholeGradient) {
  // One quick worker has four servers to itself: 1 GB over its own 1 GB/s, not a quarter second.
  ParameterServerJob job;
  job.compute_s = {0.0, 50.0, 50.0, 50.0};
  job.servers = 4;
  job.gradient_bytes = 1e9;
  job.link = {0.0, 1e-9, 0.0};
  job.asynchronous = true;
  EXPECT_LE(4 / simulate(job).step_s, 0.5 + 3 / 50.0 + 0.01);
}

TEST(ParameterServer, WhatCannotBeIsRefused) {
  EXPECT_THROW(simulate(ParameterServerJob{}), std::invalid_argument);
  ParameterServerJob job;
  job.compute_s = {1.0};
  job.servers = 2;
  EXPECT_THROW(simulate(job), std::invalid_argument);
  job.servers = 1;
  job.steps = 1;
  EXPECT_THROW(simulate(job), std::invalid_argument);
}

}  // namespace
}  // namespace ddpprof::strategy
