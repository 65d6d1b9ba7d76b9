// Gathers, scatters and broadcasts of sharded training, sequence parallel layers, or DDP.
#include <gmock/gmock.h>

#include "tests/analysis/import/trace/made_steps.hpp"

namespace ddpprof::import {
namespace {

using testing::HasSubstr;
using Made = MadeSteps;

// DeepSpeed's first stages all-reduce gradients and gather the parameters that each rank's optimizer updated.
TEST(Sharded, ParametersGatheredAfterTheOptimizerAreAnOptimizersShards) {
  Made whole;
  whole.run(CollectiveOp::all_reduce, 500).run(CollectiveOp::all_gather, 960);
  const Recognised found = whole.recognised();
  EXPECT_EQ(found.kind, Parallelism::sharded);
  EXPECT_THAT(found.why, HasSubstr("optimizers with sharded state"));
  Made half;  // parameters of half the width
  half.run(CollectiveOp::all_reduce, 500).run(CollectiveOp::all_gather, 960, 500'000);
  EXPECT_EQ(half.recognised().kind, Parallelism::sharded);
  Made broadcast;  // each rank broadcasts its own part
  broadcast.run(CollectiveOp::all_reduce, 500);
  for (int i = 0; i < 8; ++i) broadcast.run(CollectiveOp::broadcast, 910 + i, 125'000);
  EXPECT_EQ(broadcast.recognised().kind, Parallelism::sharded);
  Made reduced;  // reduced to the rank that owns the part
  reduced.run(CollectiveOp::other, 500).run(CollectiveOp::all_gather, 960);
  EXPECT_EQ(reduced.recognised().kind, Parallelism::sharded);
  Made accumulated(4);  // one annotated step per micro-batch; the last of two updates
  accumulated.run(CollectiveOp::all_reduce, 500).run(CollectiveOp::all_gather, 960);
  std::erase_if(accumulated.collectives, [](const Collective& c) { return c.launch_ns / 1000 % 2 == 0; });
  EXPECT_EQ(accumulated.recognised().kind, Parallelism::sharded);
}

TEST(Sharded, BroadcastsOfBuffersAndOfTheFirstParametersAreDdp) {
  Made buffers;
  buffers.run(CollectiveOp::all_reduce, 500).run(CollectiveOp::broadcast, 110, 600'000);
  EXPECT_EQ(buffers.recognised().kind, Parallelism::data) << "within forward";
  Made small;
  small.run(CollectiveOp::all_reduce, 500).run(CollectiveOp::broadcast, 50, 50'000);
  EXPECT_EQ(small.recognised().kind, Parallelism::data);
  Made start;  // before the first forward, all of them inside a step's annotation
  start.run(CollectiveOp::all_reduce, 500);
  const std::vector<HostStep> steps = start.steps;
  start.steps.resize(1);
  for (int i = 0; i < 9; ++i) start.run(CollectiveOp::broadcast, 10 + i);
  start.steps = steps;
  EXPECT_EQ(start.recognised().kind, Parallelism::data);
  Made results;  // a gather of predictions
  results.run(CollectiveOp::all_reduce, 500).run(CollectiveOp::all_gather, 960, 4'000);
  EXPECT_EQ(results.recognised().kind, Parallelism::data);
}

TEST(Sharded, WithoutSizesTimesTellGatheredParameters) {
  Made made;
  made.unsized(CollectiveOp::all_reduce, 500, 900'000).unsized(CollectiveOp::all_gather, 960, 450'000);
  EXPECT_EQ(made.recognised().kind, Parallelism::sharded);
  Made metrics;
  metrics.unsized(CollectiveOp::all_reduce, 500, 900'000).unsized(CollectiveOp::all_gather, 960, 15'000);
  EXPECT_EQ(metrics.recognised().kind, Parallelism::data);
  EXPECT_NE(metrics.recognised().unsure, "");
}

TEST(Sharded, ReduceScattersInForwardAreSequenceParallelLayers) {
  Made made;
  made.run(CollectiveOp::all_gather, 150)
      .run(CollectiveOp::reduce_scatter, 200)
      .run(CollectiveOp::all_gather, 450)
      .run(CollectiveOp::reduce_scatter, 480)
      .run(CollectiveOp::all_reduce, 500);
  const Recognised found = made.recognised();
  EXPECT_EQ(found.kind, Parallelism::model);
  EXPECT_THAT(found.why, HasSubstr("sequence parallel"));
}

// The second micro-batch's forward begins at the end of the first backward, because neither is annotated.
TEST(Sharded, WhatABackwardScattersLateIsNotOfTheNextForward) {
  Made made;
  for (HostStep& step : made.steps) {
    const std::int64_t at_ns = step.time.start_ns;
    step.passes = {{{at_ns + 100, at_ns + 200}, {at_ns + 200, at_ns + 400}},
                   {{at_ns + 400, at_ns + 600}, {at_ns + 600, at_ns + 800}}};
  }
  made.run(CollectiveOp::all_gather, 150).run(CollectiveOp::reduce_scatter, 410);
  EXPECT_EQ(made.recognised().kind, Parallelism::sharded);
}

TEST(Sharded, OneGatherAndOneScatterInAllAreNotSharded) {
  Made made;
  made.run(CollectiveOp::all_reduce, 500);
  const std::vector<HostStep> steps = made.steps;
  made.steps.resize(1);
  made.run(CollectiveOp::all_gather, 50).run(CollectiveOp::reduce_scatter, 60);
  made.steps = steps;
  EXPECT_EQ(made.recognised().kind, Parallelism::data);
}

}  // namespace
}  // namespace ddpprof::import
