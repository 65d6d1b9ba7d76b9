// What a trace's collectives say of how its processes share the work.
#include "analysis/import/trace/parallelism.hpp"

#include <gmock/gmock.h>

#include "analysis/import/trace/gradient_group.hpp"

namespace ddpprof::import {
namespace {

using testing::HasSubstr;

// Steps of 1000 ns, forward from 100, backward from 400 to 800, optimizer from 900.
struct Made {
  RankTrace rank{SortOptions{}};
  std::vector<HostStep> steps;
  std::vector<Collective> collectives;
  std::int64_t devices = 1;

  explicit Made(std::int64_t count = 3) {
    rank.rank = 0;
    rank.world_size = 8;
    for (std::int64_t i = 0; i < count; ++i) {
      HostStep step;
      step.number = i;
      step.time = {1000 * i, 1000 * (i + 1)};
      step.passes = {{{1000 * i + 100, 1000 * i + 400}, {1000 * i + 400, 1000 * i + 800}}};
      step.optimizers = {{1000 * i + 900, 1000 * i + 950}};
      steps.push_back(step);
    }
  }
  // In every step, at that moment of it.
  Made& run(CollectiveOp op, std::int64_t at_ns, std::int64_t bytes = 1'000'000, std::int64_t group_size = 8) {
    for (const HostStep& step : steps) {
      Collective one;
      one.op = op;
      one.launch_ns = step.time.start_ns + at_ns;
      one.run = Span{one.launch_ns, one.launch_ns + 10};
      one.bytes = bytes;
      one.group_size = group_size;
      collectives.push_back(one);
    }
    return *this;
  }
  Made& call(CollectiveOp op, std::int64_t at_ns) {
    for (const HostStep& step : steps) {
      CollectiveCall one;
      one.op = op;
      one.time = {step.time.start_ns + at_ns, step.time.start_ns + at_ns + 1};
      rank.calls.push_back(one);
    }
    return *this;
  }
  Recognised recognised() {
    std::stable_sort(collectives.begin(), collectives.end(),
                     [](const Collective& a, const Collective& b) { return a.launch_ns < b.launch_ns; });
    mark_gradients(rank, steps, collectives);
    return recognise(rank, steps, collectives, devices);
  }
};

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
  EXPECT_EQ(fenced.run(CollectiveOp::barrier, 50, 0).recognised().kind, Parallelism::apart) << "a barrier carries none";
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
  const Recognised found = made.recognised();
  EXPECT_EQ(found.kind, Parallelism::sharded);
  EXPECT_THAT(found.why, HasSubstr("in 3 steps: forward 3 all-gathers; backward 3 all-gathers, 3 reduce-scatters; "
                                   "beside both 3 reduce-scatters"));
  EXPECT_EQ(note_of(found).code, "sharded_data_parallel");
}

// Gloo carries a reduce-scatter out as an all-reduce.
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

TEST(Parallelism, SeveralDevicesWithoutGradientsReduced) {
  Made made;
  made.devices = 4;
  made.rank.world_size.reset();
  const Recognised found = made.run(CollectiveOp::broadcast, 120).recognised();
  EXPECT_EQ(found.kind, Parallelism::one_process);
  EXPECT_THAT(found.why, HasSubstr("4 devices"));
  EXPECT_EQ(note_of(found).code, "not_data_parallel");
  // A rank may copy through a second device all the same.
  EXPECT_EQ(made.run(CollectiveOp::all_reduce, 500).recognised().kind, Parallelism::data);
}

TEST(Parallelism, SendsBetweenStages) {
  Made made;
  made.run(CollectiveOp::send, 390).run(CollectiveOp::receive, 410);
  EXPECT_EQ(made.recognised().kind, Parallelism::model);
  // With gradients reduced among the stages' copies as well.
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
  Made unsized;
  unsized.run(CollectiveOp::all_reduce, 200, 0).run(CollectiveOp::all_reduce, 500, 0);
  EXPECT_EQ(unsized.recognised().kind, Parallelism::data) << "one a step may be a barrier";
  EXPECT_EQ(unsized.run(CollectiveOp::all_reduce, 220, 0).recognised().kind, Parallelism::model);
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

TEST(Parallelism, WithoutStepsTheWholeTraceTells) {
  Made made;
  made.run(CollectiveOp::send, 300);
  made.steps.clear();
  const Recognised found = made.recognised();
  EXPECT_EQ(found.kind, Parallelism::model);
  EXPECT_THAT(found.why, HasSubstr("in all: 3 sends"));
}

}  // namespace
}  // namespace ddpprof::import
