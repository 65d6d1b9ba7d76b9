// The parallelism detected from a trace's collectives.
#include <gmock/gmock.h>

#include "tests/analysis/import/trace/made_steps.hpp"

namespace ddpprof::import {
namespace {

using testing::HasSubstr;
using Made = MadeSteps;

TEST(Parallelism, GradientsReducedInBackwardAreDataParallel) {
  Made made;
  made.run(CollectiveOp::all_reduce, 500).run(CollectiveOp::all_reduce, 600).run(CollectiveOp::broadcast, 110);
  EXPECT_EQ(made.recognised().kind, Parallelism::data);
}

TEST(Parallelism, SmallExchangesInForwardChangeNothing) {
  Made made;
  made.run(CollectiveOp::all_reduce, 500)
      .run(CollectiveOp::all_reduce, 300, 4)    // a loss's mean
      .run(CollectiveOp::all_gather, 200, 512)  // batch normalisation's sums
      .run(CollectiveOp::barrier, 50, 0);
  EXPECT_EQ(made.recognised().kind, Parallelism::data);
}

TEST(Parallelism, OneDeviceAloneIsTheBaseOfDataParallel) {
  Made made;
  made.rank.world_size.reset();
  EXPECT_EQ(made.recognised().kind, Parallelism::data);
  made.rank.world_size = 1;
  EXPECT_EQ(made.recognised().kind, Parallelism::data);
}

TEST(Parallelism, OneOfSeveralRanksThatExchangedNothing) {
  const Recognised found = Made().recognised();
  EXPECT_EQ(found.kind, Parallelism::apart);
  EXPECT_THAT(found.why, HasSubstr("rank 0 of 8"));
  Made fenced;
  EXPECT_EQ(fenced.run(CollectiveOp::barrier, 50, 0).recognised().kind, Parallelism::apart)
      << "a barrier exchanges no data";
}

TEST(Parallelism, WithoutABackwardNothingIsConcluded) {
  Made made;
  for (HostStep& step : made.steps) step.passes.clear();
  EXPECT_EQ(made.recognised().kind, Parallelism::data);
  EXPECT_EQ(made.run(CollectiveOp::all_reduce, 300).recognised().kind, Parallelism::data);
}

TEST(Parallelism, ParametersGatheredAndGradientsScattered) {
  Made made;
  made.run(CollectiveOp::all_gather, 150)
      .run(CollectiveOp::all_gather, 450)
      .run(CollectiveOp::reduce_scatter, 500)
      .run(CollectiveOp::reduce_scatter, 850);
  Recognised found = made.recognised();
  EXPECT_EQ(found.kind, Parallelism::sharded);
  EXPECT_THAT(found.why, HasSubstr("in 3 steps: forward 3 all-gathers; backward 3 all-gathers, 3 reduce-scatters; "
                                   "beside both 3 reduce-scatters"));
  EXPECT_EQ(note_of(found).code, "sharded_data_parallel");
  EXPECT_THAT(note_of(found).advice, HasSubstr("reported, not predicted"));
  found.units_known = true;
  EXPECT_EQ(note_of(found).code, "sharded_data_parallel");
  EXPECT_THAT(note_of(found).advice, HasSubstr("predictions need two or more ranks"));
}

// Gloo executes a reduce-scatter as an all-reduce.
TEST(Parallelism, TheHostsCallsSayWhatItWas) {
  Made made;
  made.call(CollectiveOp::all_gather, 150)
      .call(CollectiveOp::reduce_scatter, 500)
      .run(CollectiveOp::all_gather, 150)
      .run(CollectiveOp::all_reduce, 500);
  EXPECT_EQ(made.recognised().kind, Parallelism::sharded);
}

TEST(Parallelism, AnnotationsOfAWrapper) {
  Made sharded;
  sharded.rank.sharding_marks = 12;
  EXPECT_EQ(sharded.run(CollectiveOp::all_reduce, 500).recognised().kind, Parallelism::sharded);
  Made replicated;
  replicated.rank.replicated_forwards = 3;
  replicated.rank.world_size.reset();
  EXPECT_EQ(replicated.run(CollectiveOp::broadcast, 120).run(CollectiveOp::other, 700).recognised().kind,
            Parallelism::one_process);
}

// FSDP with annotations, as one dimension of several.
TEST(Parallelism, ShardsBesideStagesOrTensorParallelLayersAreNotShardsAlone) {
  const auto fsdp = [] {
    Made made;
    made.rank.sharding_marks = 12;
    made.run(CollectiveOp::all_gather, 150).run(CollectiveOp::reduce_scatter, 500);
    return made;
  };
  EXPECT_EQ(fsdp().recognised().kind, Parallelism::sharded);
  Made stages = fsdp();
  EXPECT_EQ(stages.run(CollectiveOp::send, 300).run(CollectiveOp::receive, 600).recognised().kind, Parallelism::model);
  Made tensors = fsdp();
  const Recognised found = tensors.run(CollectiveOp::all_reduce, 200, 200'000).recognised();
  EXPECT_EQ(found.kind, Parallelism::model);
  EXPECT_THAT(found.why, HasSubstr("12 annotations of FSDP; all-reduces in forward"));
  Made experts = fsdp();
  EXPECT_EQ(experts.run(CollectiveOp::all_to_all, 200).recognised().kind, Parallelism::model);
  Made loss = fsdp();
  EXPECT_EQ(loss.run(CollectiveOp::all_reduce, 390, 4).recognised().kind, Parallelism::sharded);
}

TEST(Parallelism, SeveralDevicesWithoutGradientsReduced) {
  Made made;
  made.devices = 4;
  made.rank.world_size.reset();
  const Recognised found = made.run(CollectiveOp::broadcast, 120).recognised();
  EXPECT_EQ(found.kind, Parallelism::one_process);
  EXPECT_THAT(found.why, HasSubstr("4 devices"));
  EXPECT_EQ(note_of(found).code, "not_data_parallel");
  // Its parts are on several devices, whose compute must not be united.
  const Recognised spanning = made.run(CollectiveOp::all_reduce, 500).recognised();
  EXPECT_EQ(spanning.kind, Parallelism::model);
  EXPECT_THAT(spanning.why, HasSubstr("one process computed on 4 devices"));
}

TEST(Parallelism, SendsBetweenStages) {
  Made made;
  made.run(CollectiveOp::send, 390).run(CollectiveOp::receive, 410);
  EXPECT_EQ(made.recognised().kind, Parallelism::model);
  // Also if gradients are reduced between replicas of the stages.
  EXPECT_EQ(made.run(CollectiveOp::all_reduce, 500).recognised().kind, Parallelism::model);
  Made once;
  once.run(CollectiveOp::all_reduce, 500);
  once.steps.resize(1);
  once.run(CollectiveOp::send, 50);
  once.steps = Made().steps;
  EXPECT_EQ(once.recognised().kind, Parallelism::data) << "one send in three steps";
}

TEST(Parallelism, ActivationsReducedInForward) {
  Made made;
  made.run(CollectiveOp::all_reduce, 200).run(CollectiveOp::all_reduce, 500);
  EXPECT_EQ(made.recognised().kind, Parallelism::model);
}

// All-reduces of activations last about as long in forward as in backward.
TEST(Parallelism, WithoutSizesTimesTellActivations) {
  Made made;
  made.unsized(CollectiveOp::all_reduce, 200, 400'000).unsized(CollectiveOp::all_reduce, 500, 400'000);
  EXPECT_EQ(made.recognised().kind, Parallelism::data) << "one a step may be a barrier";
  made.unsized(CollectiveOp::all_reduce, 220, 400'000);
  EXPECT_EQ(made.recognised().kind, Parallelism::model);
}

// Six buckets and, after the model's forward, two scalars: one waits for the slowest rank, the other does not wait.
TEST(Parallelism, WithoutSizesShortAllReducesInForwardAreSaidAndNoMore) {
  Made made;
  for (int i = 0; i < 6; ++i) made.unsized(CollectiveOp::all_reduce, 500 + 10 * i, 200'000);
  made.unsized(CollectiveOp::all_reduce, 380, 900'000).unsized(CollectiveOp::all_reduce, 390, 15'000);
  const Recognised found = made.recognised();
  EXPECT_EQ(found.kind, Parallelism::data);
  EXPECT_THAT(found.unsure, HasSubstr("all-reduces in forward"));
  EXPECT_THAT(found.unsure, HasSubstr("forward 6 all-reduces; backward 18 all-reduces"));
  Made sized;
  sized.run(CollectiveOp::all_reduce, 500).run(CollectiveOp::all_reduce, 380, 4).run(CollectiveOp::all_reduce, 390, 4);
  EXPECT_EQ(sized.recognised().kind, Parallelism::data);
  EXPECT_EQ(sized.recognised().unsure, "") << "sizes decide";
}

// Batch normalisation that all-reduces in forward and backward, and a bucket: the all-reduces are short, though many.
TEST(Parallelism, WithoutSizesManyShortAllReducesAreNoActivations) {
  Made made;
  for (int i = 0; i < 50; ++i)
    made.unsized(CollectiveOp::all_reduce, 200 + i, 30'000).unsized(CollectiveOp::all_reduce, 500 + i, 30'000);
  made.unsized(CollectiveOp::all_reduce, 600, 900'000);
  EXPECT_EQ(made.recognised().kind, Parallelism::data);
  EXPECT_NE(made.recognised().unsure, "");
}

// A gather of metrics once a step runs as NCCL's kernel that sends and receives.
TEST(Parallelism, AGatherOfMetricsIsNoPipeline) {
  Made sized;
  sized.run(CollectiveOp::all_reduce, 500).run(CollectiveOp::send, 390, 64);
  EXPECT_EQ(sized.recognised().kind, Parallelism::data);
  EXPECT_EQ(sized.recognised().unsure, "");
  Made unsized;
  unsized.unsized(CollectiveOp::all_reduce, 500, 200'000).unsized(CollectiveOp::send, 390, 15'000);
  EXPECT_EQ(unsized.recognised().kind, Parallelism::data);
  EXPECT_THAT(unsized.recognised().unsure, HasSubstr("pipeline"));
  Made beside;
  beside.unsized(CollectiveOp::all_reduce, 500, 200'000).unsized(CollectiveOp::send, 960, 900'000);
  EXPECT_EQ(beside.recognised().kind, Parallelism::data) << "after the optimizer";
  Made stage;  // the first stage: it sends forward, and has its gradient before its backward begins
  stage.run(CollectiveOp::all_reduce, 500).run(CollectiveOp::send, 380).run(CollectiveOp::receive, 390);
  EXPECT_EQ(stage.recognised().kind, Parallelism::model);
  Made unsized_stage;
  unsized_stage.unsized(CollectiveOp::all_reduce, 500, 200'000)
      .unsized(CollectiveOp::send, 380, 300'000)
      .unsized(CollectiveOp::receive, 390, 300'000);
  EXPECT_EQ(unsized_stage.recognised().kind, Parallelism::model);
}

TEST(Parallelism, GradientsReducedWithinSmallerGroups) {
  Made made;
  made.run(CollectiveOp::all_reduce, 500, 1'000'000, 2);
  const Recognised found = made.recognised();
  EXPECT_EQ(found.kind, Parallelism::model);
  EXPECT_THAT(found.why, HasSubstr("groups of 2 of the 8"));
  Made unknown;
  EXPECT_EQ(unknown.run(CollectiveOp::all_reduce, 500, 1'000'000, 0).recognised().kind, Parallelism::data);
}

TEST(Parallelism, ExpertsExchangeAllToAll) {
  Made made;
  EXPECT_EQ(made.run(CollectiveOp::all_to_all, 200).run(CollectiveOp::all_reduce, 500).recognised().kind,
            Parallelism::model);
}

// FSDP gathers for the backward before its first function, at 390, and scatters after its last one, at 820.
TEST(Parallelism, AnnotationsGiveThePhaseOfGathersAndScatters) {
  Made made;
  for (const HostStep& step : made.steps)
    for (const auto& [at, action] : {std::pair{100, ShardingAction::pre_forward},
                                     {380, ShardingAction::pre_backward},
                                     {810, ShardingAction::post_backward}}) {
      ShardingMark mark;
      mark.time = {step.time.start_ns + at, step.time.start_ns + at + 20};
      mark.action = action;
      made.rank.sharding.push_back(mark);
      ++made.rank.sharding_marks;
    }
  made.run(CollectiveOp::all_gather, 110).run(CollectiveOp::all_gather, 390).run(CollectiveOp::reduce_scatter, 820);
  EXPECT_THAT(made.recognised().why, HasSubstr("forward 3 all-gathers; backward 3 all-gathers, 3 reduce-scatters)"));
}

// Runs of a group, once per step, at these times after its start.
Made& in_group(Made& made, std::uint64_t communicator, std::int64_t size, CollectiveOp op, std::int64_t bytes,
               const std::vector<std::int64_t>& at_ns) {
  for (const std::int64_t at : at_ns) {
    made.run(op, at, bytes, size);
    for (std::size_t i = made.collectives.size() - made.steps.size(); i < made.collectives.size(); ++i)
      made.collectives[i].communicator = communicator;
  }
  return made;
}

constexpr std::int64_t mega = 1'000'000;

// 8 ranks: groups of 4 all-reduce activations, 2 replicas all-reduce gradients.
TEST(Replicas, AreTheRanksThatReduceGradientsOfADividedModel) {
  Made made;
  in_group(made, 1, 4, CollectiveOp::all_reduce, mega, {200, 450});
  in_group(made, 2, 2, CollectiveOp::all_reduce, 4 * mega, {600, 850});
  in_group(made, 3, 8, CollectiveOp::all_reduce, 4, {300, 890});  // a loss's mean and a norm, over all ranks
  const Recognised found = made.recognised();
  EXPECT_EQ(found.kind, Parallelism::model);
  EXPECT_EQ(found.replicas, 2);
}

TEST(Replicas, OneIfOnlyActivationsAreReduced) {
  for (const std::int64_t again : {1, 2}) {  // with forward computed again in backward
    Made made;
    made.run(CollectiveOp::all_reduce, 200);
    for (std::int64_t i = 0; i < again; ++i) made.run(CollectiveOp::all_reduce, 450 + 10 * i);
    EXPECT_EQ(made.recognised().replicas, 1) << again;
  }
}

// The same group may reduce activations and gradients.
TEST(Replicas, UnknownIfTheGroupReducesMoreThanActivationsOrItsSizesAreMissing) {
  Made more;
  EXPECT_EQ(more.run(CollectiveOp::all_reduce, 200).run(CollectiveOp::all_reduce, 450, 5 * mega).recognised().replicas,
            0);
  Made unsized;
  for (int i = 0; i < 4; ++i)
    unsized.unsized(CollectiveOp::all_reduce, 200 + i, 100'000).unsized(CollectiveOp::all_reduce, 450 + i, 100'000);
  const Recognised found = unsized.recognised();
  EXPECT_EQ(found.kind, Parallelism::model);
  EXPECT_EQ(found.replicas, 0);
}

TEST(Replicas, UnknownForPipelineStages) {
  Made made;
  EXPECT_EQ(made.run(CollectiveOp::send, 300).run(CollectiveOp::receive, 450).recognised().replicas, 0);
}

// A group of all ranks exchanges equal parts, and reduces 250,000 floats. Ranks that divide sequences have the whole model
// and reduce all of its gradients; those of experts belong to one rank.
TEST(Replicas, OfAllRanksThatExchangeFollowFromTheGradients) {
  const auto exchanging = [](std::int64_t gradients, bool whole_numbers) {
    Made made;
    made.run(CollectiveOp::all_to_all, 200).run(CollectiveOp::all_reduce, 500);
    for (Collective& one : made.collectives) {
      one.element_bytes = 4;
      one.integral = whole_numbers && one.op == CollectiveOp::all_to_all;
    }
    for (const HostStep& step : made.steps) {
      GradientMark mark;
      mark.ready_ns = step.time.start_ns + 700;
      mark.numel = gradients;
      mark.element_bytes = 4;
      if (gradients > 0) made.rank.gradients.push_back(mark);
    }
    return made.recognised();
  };
  EXPECT_EQ(exchanging(250'000, false).replicas, 1);
  EXPECT_EQ(exchanging(1'000'000, false).replicas, std::nullopt);
  EXPECT_EQ(exchanging(250'000, true).replicas, std::nullopt) << "numbers of tokens, or indices of embeddings";
  EXPECT_EQ(exchanging(0, false).replicas, 0) << "the gradients are not known";
  EXPECT_THAT(exchanging(0, false).why, HasSubstr("whether the ranks divide sequences or experts is not known"));
}

TEST(Replicas, AreTheRanksOfTheGroupThatReducesGradients) {
  Made groups;
  EXPECT_EQ(groups.run(CollectiveOp::all_to_all, 200).run(CollectiveOp::all_reduce, 500, mega, 4).recognised().replicas,
            4);
  EXPECT_EQ(Made().run(CollectiveOp::all_reduce, 500, mega, 2).recognised().replicas, 2) << "within groups of 2";
  EXPECT_EQ(Made().run(CollectiveOp::all_reduce, 500).recognised().replicas, std::nullopt) << "data parallel";
}

// 8 ranks have the whole model. Groups of 4 exchange parts of sequences, so a step has the samples of 2 ranks.
TEST(Replicas, AreTheGroupsThatDivideSequences) {
  const auto divided = [](std::int64_t experts, bool unequal, bool shards) {
    Made made;
    in_group(made, 1, 4, CollectiveOp::all_to_all, mega, {150, 200, 450, 500});
    if (unequal) made.collectives.front().details.largest_split = 1.5;
    if (shards) {
      in_group(made, 2, 8, CollectiveOp::all_gather, 4 * mega, {110, 410});
      in_group(made, 2, 8, CollectiveOp::reduce_scatter, 4 * mega, {600});
    } else {
      in_group(made, 2, 8, CollectiveOp::all_reduce, 4 * mega, {600});
    }
    if (experts > 0) in_group(made, 3, experts, CollectiveOp::all_reduce, mega, {700});
    return made.recognised();
  };
  EXPECT_EQ(divided(0, false, false).kind, Parallelism::model);
  EXPECT_EQ(divided(0, false, false).replicas, 2);
  EXPECT_EQ(divided(0, false, true).replicas, 2) << "with sharded parameters";
  EXPECT_EQ(divided(2, false, false).replicas, std::nullopt) << "gradients of experts are reduced over 2 ranks";
  EXPECT_EQ(divided(0, true, false).replicas, std::nullopt) << "experts receive unequal parts";
}

// Shards of 4 ranks beside tensor parallel groups of 2. If shards are replicated, too, two groups reduce gradients.
TEST(Replicas, OfShardsBesideTensorParallelLayers) {
  const auto shards = [](bool replicated) {
    Made made;
    made.rank.sharding_marks = 12;
    in_group(made, 1, 2, CollectiveOp::all_reduce, mega, {200, 450});
    in_group(made, 2, 4, CollectiveOp::all_gather, 4 * mega, {150, 410});
    in_group(made, 2, 4, CollectiveOp::reduce_scatter, 4 * mega, {500});
    if (replicated) in_group(made, 3, 2, CollectiveOp::all_reduce, mega, {600});
    return made.recognised();
  };
  EXPECT_EQ(shards(false).kind, Parallelism::model);
  EXPECT_EQ(shards(false).replicas, 4);
  EXPECT_EQ(shards(true).replicas, 0);
}

TEST(Parallelism, WithoutStepsTheWholeTraceTells) {
  Made made;
  made.run(CollectiveOp::send, 300);
  made.steps.clear();
  const Recognised found = made.recognised();
  EXPECT_EQ(found.kind, Parallelism::model);
  EXPECT_THAT(found.why, HasSubstr("in all: 3 sends"));
  Made gathered;
  gathered.run(CollectiveOp::all_reduce, 500).run(CollectiveOp::all_reduce, 510);
  gathered.steps.resize(1);
  gathered.run(CollectiveOp::send, 300);
  gathered.steps.clear();
  EXPECT_EQ(gathered.recognised().kind, Parallelism::data) << "one send beside six all-reduces";
}

}  // namespace
}  // namespace ddpprof::import
