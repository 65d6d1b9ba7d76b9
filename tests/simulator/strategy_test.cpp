// Strategies against closed forms and published figures.
#include <gtest/gtest.h>

#include <cmath>

#include "simulator/stats/random.hpp"
#include "simulator/step/ddp_step.hpp"
#include "simulator/strategy/parallel.hpp"
#include "simulator/strategy/parameter_server.hpp"

namespace ddpprof::strategy {
namespace {

using collective::Network;

const Network free_network{};
const Network slow_network{{0.0, 1e-9, 0.0}, {0.0, 1e-9, 0.0}, 1, 0};  // 1 GB/s, a rank a node

Job even_job(std::size_t blocks, double forward_s, double backward_s, double parameter_bytes = 0.0) {
  Job job;
  job.blocks.assign(blocks, {forward_s, backward_s, parameter_bytes, 100.0, 0.0, 2});
  return job;
}

TEST(Pipeline, TheBubbleIsTheKnownShare) {
  // (p - 1)/(m + p - 1) of the step (Huang et al. 2019, "GPipe"); the same for 1F1B.
  for (const Schedule schedule : {Schedule::gpipe, Schedule::one_f_one_b}) {
    for (const std::int64_t stages : {2, 4, 8}) {
      for (const std::int64_t micro : {1, 3, 8, 32}) {
        const Outcome outcome = simulate(
            even_job(8, 0.01, 0.02), {.pipeline = stages, .micro_batches = micro, .schedule = schedule}, free_network);
        const auto p = static_cast<double>(stages), m = static_cast<double>(micro);
        const double a_stage_s = 8 / p * 0.03;
        EXPECT_NEAR(outcome.step_s, (m + p - 1) * a_stage_s, 1e-9);
        EXPECT_NEAR(outcome.bubble_s / outcome.step_s, (p - 1) / (m + p - 1), 1e-9);
        EXPECT_NEAR(outcome.exposed_s, 0.0, 1e-12);
      }
    }
  }
}

TEST(Pipeline, OneForwardOneBackwardKeepsFewerActivations) {
  const Plan plan{.pipeline = 4, .micro_batches = 16};
  Plan gpipe = plan;
  gpipe.schedule = Schedule::gpipe;
  const Outcome less = simulate(even_job(4, 0.01, 0.02), plan, free_network);
  const Outcome more = simulate(even_job(4, 0.01, 0.02), gpipe, free_network);
  for (std::size_t stage = 0; stage < 4; ++stage) {
    EXPECT_EQ(less.stages[stage].memory.activations_bytes, 100.0 * static_cast<double>(4 - stage));
    EXPECT_EQ(more.stages[stage].memory.activations_bytes, 1600.0);
  }
}

TEST(Pipeline, TransfersBetweenStagesLengthenTheFill) {
  Job job = even_job(2, 1.0, 2.0);
  job.blocks[0].output_bytes = 0.5e9;  // half a second
  const Outcome outcome = simulate(job, {.pipeline = 2, .micro_batches = 1}, slow_network);
  EXPECT_NEAR(outcome.step_s, 6.0 + 2 * 0.5, 1e-9);
  EXPECT_NEAR(outcome.exposed_s, 1.0, 1e-9);
  EXPECT_EQ(outcome.stages[0].sent_bytes, 0.5e9);
}

TEST(Pipeline, StagesAreCutSoThatTheSlowestIsFast) {
  Job job = even_job(5, 1.0, 0.0);
  job.blocks[0].forward_s = 3.0;
  EXPECT_EQ(balanced_stages(job, 2), (std::vector<std::size_t>{0, 1}));
  job.blocks[4].forward_s = 9.0;
  EXPECT_EQ(balanced_stages(job, 2), (std::vector<std::size_t>{0, 4}));
  EXPECT_THROW(balanced_stages(job, 6), std::invalid_argument);
}

TEST(Tensor, ABlockPaysTwoAllReducesEachWay) {
  Job job = even_job(3, 0.4, 0.8);
  for (Block& block : job.blocks) block.output_bytes = 1e6;
  const Outcome outcome = simulate(job, {.tensor = 4}, slow_network);
  const double all_reduce_s = 2.0 * 3 / 4 * 1e6 * 1e-9;
  EXPECT_NEAR(outcome.step_s, 3 * 1.2 / 4 + 3 * 4 * all_reduce_s, 1e-9);
  EXPECT_NEAR(outcome.exposed_s, 12 * all_reduce_s, 1e-9);
  EXPECT_NEAR(outcome.stages[0].sent_bytes, 12 * 1.5e6, 1e-6);
}

TEST(Data, IsTheClosedRecurrenceOfDdp) {
  stats::Random random(5);
  for (int round = 0; round < 100; ++round) {
    Job job;
    const std::uint64_t blocks = 1 + random.below(20);
    for (std::uint64_t i = 0; i < blocks; ++i)
      job.blocks.push_back({random.uniform(), random.uniform(), std::floor(1e7 * random.uniform()), 0.0, 0.0, 2});
    job.optimizer_s = random.uniform();
    job.data_s = 0.1 * random.uniform();
    Plan plan{.data = static_cast<std::int64_t>(2 + random.below(30))};
    plan.micro_batches = static_cast<std::int64_t>(1 + random.below(3));
    const Network network{{1e-4, 1e-8, 1e-10}, {1e-4, 1e-8, 1e-10}, 1, 0};

    step::DdpStep step;
    step.accumulation = plan.micro_batches;
    step.data_s = job.data_s;
    step.optimizer_s = job.optimizer_s;
    std::vector<step::Gradient> gradients;
    std::vector<double> ready;
    for (auto block = job.blocks.rbegin(); block != job.blocks.rend(); ++block) {
      step.forward_s += block->forward_s;
      step.backward_s += block->backward_s;
      ready.push_back(step.backward_s);
      gradients.push_back({static_cast<std::int64_t>(block->parameter_bytes), 0, 0});
    }
    std::vector<std::int64_t> order(gradients.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int64_t>(i);
    for (const auto& bucket : step::rebuilt_buckets(gradients, order, plan.buckets))
      step.buckets.push_back(
          {ready[static_cast<std::size_t>(bucket.back())],
           collective::ring(plan.data, static_cast<double>(step::bucket_bytes(gradients, bucket)), network.across),
           0.0});
    EXPECT_NEAR(simulate(job, plan, network).step_s, step::simulate(step).step_s, 1e-9) << round;
  }
}

TEST(Data, WithoutOverlapEverythingIsExposed) {
  const Job job = even_job(4, 0.1, 0.2, 1e7);
  Plan plan{.data = 2, .overlap = false};
  plan.buckets = {10'000'000, 10'000'000};
  const Outcome outcome = simulate(job, plan, slow_network);
  EXPECT_NEAR(outcome.exposed_s, 4 * 1e7 * 1e-9, 1e-9);
  plan.overlap = true;
  EXPECT_NEAR(simulate(job, plan, slow_network).exposed_s, 1e7 * 1e-9, 1e-9);
}

TEST(Zero, MemoryIsThePublishedTable) {
  // 7.5 billion parameters on 64 GPUs, mixed precision with Adam: 120, 31.4, 16.6 and 1.9 GB a GPU (Rajbhandari et al.
  // 2020, "ZeRO", figure 1). Theirs count no block that is gathered, nor its gradients before they are scattered: one
  // of 75 is 0.2 GB here.
  Job job = even_job(75, 0.01, 0.02, 2 * 0.1e9);
  for (Block& block : job.blocks) block.activation_bytes = 0.0;
  job.gradient_bytes = 1.0;
  job.optimizer_bytes = 6.0;
  const auto gigabytes = [&](int zero) {
    return simulate(job, {.data = 64, .zero = zero, .prefetch_blocks = 0}, free_network)
               .stages[0]
               .memory.total_bytes() /
           1e9;
  };
  EXPECT_NEAR(gigabytes(0), 120.0, 0.05);
  EXPECT_NEAR(gigabytes(1), 31.4, 0.05);
  EXPECT_NEAR(gigabytes(2), 16.6 + 0.2, 0.05);
  EXPECT_NEAR(gigabytes(3), 1.9 + 0.2 + 0.2, 0.05);
}

TEST(Zero, SendsOneAndAHalfTimesTheBytesWhenParametersAreSharded) {
  const Job job = even_job(10, 0.1, 0.2, 4e6);
  const auto sent = [&](int zero) {
    return simulate(job, {.data = 8, .zero = zero}, slow_network).stages[0].sent_bytes;
  };
  EXPECT_NEAR(sent(0), 2.0 * 7 / 8 * 4e7, 1.0);
  EXPECT_NEAR(sent(1) / sent(0), 1.0, 1e-9);
  EXPECT_NEAR(sent(2) / sent(0), 1.0, 1e-9);
  EXPECT_NEAR(sent(3) / sent(0), 1.5, 1e-9);
}

TEST(Zero, WithoutPrefetchEveryGatherIsWaitedFor) {
  // A gather or a reduce-scatter of a block takes 50 ms (1 GB/s, two ranks, 100 MB).
  const Job job = even_job(6, 0.1, 0.2, 1e8);
  const double half_s = 0.05;
  const Outcome none = simulate(job, {.data = 2, .zero = 3, .prefetch_blocks = 0}, slow_network);
  EXPECT_NEAR(none.step_s, 6 * (half_s + 0.1) + 6 * (half_s + 0.2) + half_s, 1e-9);
  // With prefetch the first gather and the last reduce-scatter are left; the backward's first is hidden too.
  const Outcome one = simulate(job, {.data = 2, .zero = 3, .prefetch_blocks = 1}, slow_network);
  EXPECT_NEAR(one.step_s, 6 * 0.3 + half_s + half_s, 1e-9);
}

TEST(Zero, NoMoreBlocksAreGatheredAheadThanAllowedAcrossPassesToo) {
  // One block a stage, gathered 16 times for 8 micro-batches: every gather but the first waits for the block computed
  // two before, so that two are held at most.
  const Job job = even_job(2, 0.1, 0.1, 4e8);  // a gather or reduce-scatter takes 0.2 s
  const Plan plan{.data = 2, .pipeline = 2, .micro_batches = 8, .schedule = Schedule::gpipe, .zero = 3};
  Plan none = plan;
  none.prefetch_blocks = 0;
  // Communication alone: 8 gathers forward, 8 backward, 8 reduce-scatters on each stage's lane.
  EXPECT_GE(simulate(job, plan, slow_network).step_s, 24 * 0.2);
  EXPECT_GT(simulate(job, none, slow_network).step_s, simulate(job, plan, slow_network).step_s + 0.1);
}

TEST(Products, GroupsThatStraddleNodesPayForIt) {
  // Two stages of six ranks on nodes of eight: the second stage lies on two of them.
  const Job job = even_job(2, 0.01, 0.02, 1e8);
  const Network eight{{1e-6, 1e-11, 0.0}, {1e-5, 1e-9, 0.0}, 8, 1};
  Network six = eight;
  six.ranks_per_node = 6;
  const Plan plan{.data = 6, .pipeline = 2};
  EXPECT_GT(simulate(job, plan, eight).exposed_s, 0.05);
  EXPECT_LT(simulate(job, plan, six).exposed_s, 0.01);
}

TEST(Products, TensorParallelStagesGatherWhatArrives) {
  Job job = even_job(2, 1.0, 2.0);
  job.blocks[0].output_bytes = 0.8e9;
  for (Block& block : job.blocks) block.tensor_all_reduces = 0;
  // A quarter is sent by each of four, and three quarters come from the neighbours: as long as the whole at once.
  const Outcome outcome = simulate(job, {.tensor = 4, .pipeline = 2}, slow_network);
  EXPECT_NEAR(outcome.exposed_s, 2 * (0.2 + 0.6), 1e-9);
}

TEST(Data, WaitingForInputIsNoBubble) {
  Job job = even_job(1, 0.1, 0.2);
  job.data_s = 1.0;
  const Outcome outcome = simulate(job, {.micro_batches = 2}, free_network);
  EXPECT_NEAR(outcome.step_s, 2.6, 1e-9);
  EXPECT_NEAR(outcome.bubble_s, 0.0, 1e-9);
  EXPECT_NEAR(outcome.compute_s, 2.6, 1e-9);
}

TEST(Products, CostAtLeastWhatTheirPartsDo) {
  Job job = even_job(8, 0.1, 0.2, 1e7);
  for (Block& block : job.blocks) block.output_bytes = 1e5;
  job.optimizer_s = 0.1;
  const Network network{{1e-6, 1e-11, 0.0}, {1e-5, 1e-10, 0.0}, 8, 1};
  const Outcome alone = simulate(job, {.micro_batches = 4}, network);
  EXPECT_NEAR(alone.step_s, 4 * 8 * 0.3 + 0.1, 1e-9);
  for (const Plan& plan : {Plan{.data = 4, .tensor = 2, .pipeline = 4, .micro_batches = 4},
                           Plan{.data = 2, .tensor = 4, .pipeline = 2, .micro_batches = 4, .zero = 1},
                           Plan{.data = 16, .tensor = 2, .micro_batches = 4, .zero = 3},
                           Plan{.data = 8, .pipeline = 4, .micro_batches = 4, .schedule = Schedule::gpipe}}) {
    const Outcome outcome = simulate(job, plan, network);
    const auto split = static_cast<double>(plan.tensor * plan.pipeline);
    EXPECT_GE(outcome.step_s, 4 * 8 * 0.3 / split - 1e-9);
    EXPECT_GE(outcome.exposed_s, 0.0);
    EXPECT_GE(outcome.bubble_s, -1e-9);

    double held = 0.0;
    for (const Stage& stage : outcome.stages) held += stage.memory.gradients_bytes;
    EXPECT_NEAR(held,
                8e7 / static_cast<double>(plan.tensor) / (plan.zero >= 2 ? static_cast<double>(plan.data) : 1.0) +
                    (plan.zero >= 2 ? 1e7 / static_cast<double>(plan.tensor) : 0.0),
                1.0);
  }
}

TEST(Plans, ThatCannotBeAreRefused) {
  const Job job = even_job(2, 0.1, 0.2);
  EXPECT_THROW(simulate({}, {}, free_network), std::invalid_argument);
  EXPECT_THROW(simulate(job, {.data = 0}, free_network), std::invalid_argument);
  EXPECT_THROW(simulate(job, {.pipeline = 3}, free_network), std::invalid_argument);
  EXPECT_THROW(simulate(job, {.zero = 4}, free_network), std::invalid_argument);
  Job negative = job;
  negative.blocks[0].forward_s = -1.0;
  EXPECT_THROW(simulate(negative, {}, free_network), std::invalid_argument);
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
  EXPECT_NEAR(outcome.gradients_per_s, 4 / outcome.step_s, 1e-9);
  EXPECT_EQ(outcome.mean_staleness, 0.0);
  EXPECT_EQ(outcome.server_bytes_per_step, 8e6);
  // Four servers share the bytes: their links together are four times as fast.
  job.servers = 4;
  EXPECT_NEAR(simulate(job).step_s, 0.5 + 2 * 1e-3 + 2 * 0.01 + 0.01, 1e-9);
}

TEST(ParameterServer, AtTheirOwnPaceUpdatesAreAsStaleAsThereAreOthers) {
  ParameterServerJob job;
  job.compute_s.assign(8, 0.5);
  job.apply_s = 1e-3;
  job.asynchronous = true;
  job.steps = 100;
  const ParameterServerOutcome outcome = simulate(job);
  // Equal workers: each of the seven others updates once between a worker's read and its own update.
  EXPECT_NEAR(outcome.mean_staleness, 7.0, 0.1);
  EXPECT_NEAR(outcome.step_s, 0.501, 0.01);
}

TEST(ParameterServer, ASlowWorkerHoldsUpTheOthersOnlyWhenTheyWait) {
  ParameterServerJob job;
  job.compute_s = {0.1, 0.1, 0.1, 0.4};
  job.apply_s = 1e-6;
  job.steps = 200;
  EXPECT_NEAR(simulate(job).gradients_per_s, 4 / 0.4, 0.1);
  job.asynchronous = true;
  const ParameterServerOutcome outcome = simulate(job);
  EXPECT_NEAR(outcome.gradients_per_s, 3 / 0.1 + 1 / 0.4, 0.7);
  EXPECT_GE(outcome.exposed_s, 0.0);
  EXPECT_GE(outcome.most_staleness, 11);  // three others, four times as fast
  EXPECT_LE(outcome.most_staleness, 13);
}

TEST(ParameterServer, TheStalestUpdatesAreCounted) {
  ParameterServerJob job;
  job.compute_s = {0.1, 0.1, 0.1, 2.0};
  job.apply_s = 1e-6;
  job.asynchronous = true;
  EXPECT_NEAR(static_cast<double>(simulate(job).most_staleness), 60.0, 4.0);
}

TEST(ParameterServer, AWorkersOwnLinkCarriesItsWholeGradient) {
  // One quick worker has four servers to itself: 1 GB over its own 1 GB/s, not a quarter second.
  ParameterServerJob job;
  job.compute_s = {0.0, 50.0, 50.0, 50.0};
  job.servers = 4;
  job.gradient_bytes = 1e9;
  job.link = {0.0, 1e-9, 0.0};
  job.asynchronous = true;
  EXPECT_LE(simulate(job).gradients_per_s, 0.5 + 3 / 50.0 + 0.01);
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
