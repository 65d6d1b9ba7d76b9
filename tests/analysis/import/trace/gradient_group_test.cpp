// The all-reduces of the gradients' group that carry gradients.
#include "analysis/import/trace/collectives/gradient_group.hpp"

#include <gmock/gmock.h>

#include <algorithm>

namespace ddpprof::import {
namespace {

using testing::ElementsAre;

// Three steps of 1000 ns: backward from 400 to 800, optimizer from 900.
struct Made {
  RankTrace rank{SortOptions{}};
  std::vector<HostStep> steps;
  std::vector<Collective> collectives;
  MarkedGradients found;

  Made() {
    for (std::int64_t i = 0; i < 3; ++i) {
      HostStep step;
      step.time = {1000 * i, 1000 * (i + 1)};
      step.passes = {{{1000 * i + 100, 1000 * i + 400}, {1000 * i + 400, 1000 * i + 800}}};
      step.optimizers = {{1000 * i + 900, 1000 * i + 950}};
      steps.push_back(step);
    }
  }
  // Gradients of floats, in every step.
  Made& gradient(std::int64_t ready_ns, std::int64_t numel) {
    for (const HostStep& step : steps)
      rank.gradients.push_back({step.time.start_ns + ready_ns, numel, 4, rank.names.intern(std::to_string(numel))});
    std::stable_sort(rank.gradients.begin(), rank.gradients.end(),
                     [](const GradientMark& a, const GradientMark& b) { return a.ready_ns < b.ready_ns; });
    return *this;
  }
  Made& reduce(std::int64_t at_ns, std::int64_t bytes, std::int64_t waits_ns = 5) {
    for (const HostStep& step : steps) {
      Collective one;
      one.op = CollectiveOp::all_reduce;
      one.launch_ns = step.time.start_ns + at_ns;
      one.run = Span{one.launch_ns + waits_ns, one.launch_ns + waits_ns + 10};
      one.bytes = bytes;
      collectives.push_back(one);
    }
    return *this;
  }
  // The bytes of the marked collectives of the second step.
  std::vector<std::int64_t> marked() {
    std::stable_sort(collectives.begin(), collectives.end(),
                     [](const Collective& a, const Collective& b) { return a.launch_ns < b.launch_ns; });
    found = mark_gradients(rank, steps, collectives);
    std::vector<std::int64_t> bytes;
    for (const Collective& one : collectives)
      if (one.gradient && one.launch_ns / 1000 == 1) bytes.push_back(one.bytes);
    return bytes;
  }
};

// The sums have twice as many floats as a normalisation has channels. The normalisation's own two gradients also fill
// them.
TEST(GradientGroup, MessagesThatGradientsFillInOrder) {
  Made made;
  made.gradient(450, 64).gradient(455, 64).gradient(500, 5000);
  made.gradient(650, 64).gradient(655, 64).gradient(700, 3000);
  made.reduce(440, 512).reduce(510, 20512).reduce(640, 512).reduce(710, 12512).reduce(850, 4);
  EXPECT_THAT(made.marked(), ElementsAre(20512, 12512));
  EXPECT_EQ(made.found.left_out, 9);
  EXPECT_EQ(made.found.other_groups, 0);
}

TEST(GradientGroup, CompressedGradientsFillMessagesOfHalfTheSize) {
  Made made;
  made.gradient(500, 5000).gradient(700, 3000).reduce(510, 10000).reduce(640, 512).reduce(710, 6000);
  EXPECT_THAT(made.marked(), ElementsAre(10000, 6000));
  EXPECT_EQ(made.found.left_out, 3);
}

TEST(GradientGroup, AllOfThemWhereTheirSumIsThatOfTheGradients) {
  Made made;  // not in ready order, for example one message per parameter
  made.gradient(500, 5000).gradient(700, 3000).reduce(820, 12000).reduce(830, 20000);
  EXPECT_THAT(made.marked(), ElementsAre(12000, 20000));
  EXPECT_EQ(made.found.left_out, 0);
}

TEST(GradientGroup, WithoutShapesSmallMessagesBetweenAndAfterAreLeftOut) {
  Made made;
  for (int i = 0; i < 4; ++i) made.reduce(420 + 20 * i, 512);
  made.reduce(600, 1'000'000).reduce(620, 2'000'000).reduce(850, 4);
  EXPECT_THAT(made.marked(), ElementsAre(1'000'000, 2'000'000));
  EXPECT_EQ(made.found.left_out, 15);
}

TEST(GradientGroup, TheLastBucketMayBeSmallAndTheFirstAThousandth) {
  Made made;
  made.reduce(450, 1 << 20).reduce(500, 2'000'000'000).reduce(700, 900);
  EXPECT_THAT(made.marked(), ElementsAre(1 << 20, 2'000'000'000, 900));
  EXPECT_EQ(made.found.left_out, 0);
}

TEST(GradientGroup, WhatIsReducedAfterBackwardAloneIsTheGradients) {
  Made made;
  made.reduce(810, 1'000'000).reduce(850, 4);
  EXPECT_THAT(made.marked(), ElementsAre(1'000'000));
  Made sums;  // of normalisations, in the backward
  sums.reduce(450, 512).reduce(700, 512).reduce(810, 1'000'000).reduce(850, 4);
  EXPECT_THAT(sums.marked(), ElementsAre(1'000'000));
  Made unsized;
  unsized.reduce(810, 0).reduce(850, 0);
  EXPECT_THAT(unsized.marked(), ElementsAre(0, 0)) << "no evidence distinguishes them";
}

TEST(GradientGroup, WithoutSizesWhatIsLaunchedAfterBackwardIsLeftOut) {
  Made made;
  made.reduce(500, 0).reduce(600, 0).reduce(850, 0);
  EXPECT_THAT(made.marked(), ElementsAre(0, 0));
  EXPECT_EQ(made.found.left_out, 3);
  Made unknown;  // launches were not recorded: a run's start stands for its launch
  unknown.reduce(500, 0, 0).reduce(600, 0, 0).reduce(850, 0, 0);
  EXPECT_THAT(unknown.marked(), ElementsAre(0, 0, 0));
}

}  // namespace
}  // namespace ddpprof::import
