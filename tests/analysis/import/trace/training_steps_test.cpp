// Steps and their passes, for each kind of mark.
#include "analysis/import/trace/training_steps.hpp"

#include <gtest/gtest.h>

namespace ddpprof::import {
namespace {

void annotate(RankTrace& rank, std::int64_t number, std::int64_t start_ns, std::int64_t end_ns) {
  rank.steps.push_back({number, "ProfilerStep#" + std::to_string(number), {start_ns, end_ns}});
}

HostSteps steps_of(RankTrace& rank) {
  rank.backward_ops.finish();
  rank.forward_ops.finish();
  return find_steps(rank);
}

TEST(FindSteps, AnnotationsGoFirstInOrderOfTime) {
  RankTrace rank{SortOptions{}};
  annotate(rank, 5, 1000, 2000);
  annotate(rank, 4, 0, 1000);
  annotate(rank, 9, 500, 700);    // inside the first
  annotate(rank, 5, 1000, 2000);  // twice
  annotate(rank, 6, 1900, 3000);  // overlaps the one before
  annotate(rank, 7, 3000, 4000);
  rank.optimizers = {{100, 200}, {1100, 1200}, {2100, 2200}};
  const HostSteps found = steps_of(rank);
  EXPECT_EQ(found.source, StepSource::annotations);
  EXPECT_EQ(found.left_out, 3);
  ASSERT_EQ(found.steps.size(), 3U);
  EXPECT_EQ(found.steps[0].number, 4);
  EXPECT_EQ(found.steps[1].number, 5);
  EXPECT_EQ(found.steps[2].name, "ProfilerStep#7");
  EXPECT_EQ(found.steps[0].optimizers.size(), 1U);
}

// prof.step() in each of four micro-batches of an optimizer's step.
TEST(FindSteps, AnnotatedMicroBatchesAreJoined) {
  const auto found_with = [](std::int64_t annotations, const std::vector<std::int64_t>& updates) {
    RankTrace rank{SortOptions{}};
    for (std::int64_t i = 0; i < annotations; ++i) annotate(rank, i, 1000 * i, 1000 * i + 990);
    for (const std::int64_t i : updates) rank.optimizers.push_back({1000 * i + 800, 1000 * i + 900});
    return steps_of(rank);
  };
  const HostSteps whole = found_with(12, {3, 7, 11});
  ASSERT_EQ(whole.steps.size(), 3U);
  EXPECT_EQ(whole.micro_batches, 4);
  EXPECT_EQ(whole.cut, 0);
  EXPECT_EQ(whole.steps[1].time.start_ns, 4000);
  EXPECT_EQ(whole.steps[1].time.end_ns, 7990);
  EXPECT_EQ(whole.steps[1].name, "ProfilerStep#4 to ProfilerStep#7");
  EXPECT_EQ(whole.steps[1].optimizers.size(), 1U);
  // The profile begins in the middle of a step and ends in one.
  const HostSteps cut = found_with(9, {1, 4, 7});
  ASSERT_EQ(cut.steps.size(), 2U);
  EXPECT_EQ(cut.micro_batches, 3);
  EXPECT_EQ(cut.steps[0].time.start_ns, 2000);
  EXPECT_EQ(cut.cut, 3);
  // An update in each step, and updates that are not regular.
  EXPECT_EQ(found_with(3, {0, 1, 2}).steps.size(), 3U);
  EXPECT_EQ(found_with(8, {1, 3, 6}).steps.size(), 8U);
  EXPECT_EQ(found_with(8, {3}).steps.size(), 8U);
}

TEST(FindSteps, OptimizersBoundThemElse) {
  RankTrace rank{SortOptions{}};
  rank.optimizers = {{900, 1000}, {1900, 2000}, {1950, 1960}, {2900, 3000}};  // one is nested
  rank.forwards = {{10, 20}, {1010, 1020}, {2010, 2020}};
  const HostSteps found = steps_of(rank);
  EXPECT_EQ(found.source, StepSource::optimizers);
  ASSERT_EQ(found.steps.size(), 2U);
  EXPECT_EQ(found.steps[0].time.start_ns, 1000);
  EXPECT_EQ(found.steps[0].time.end_ns, 2000);
  EXPECT_EQ(found.steps[1].time.end_ns, 3000);
}

// Optimizer steps without annotations, one every 100 ns. Before each step its gradients are ready: a list of their numbers
// of elements.
HostSteps of_optimizers(const std::vector<std::vector<std::int64_t>>& gradients) {
  RankTrace rank{SortOptions{}};
  std::int64_t at = 0;
  for (const std::vector<std::int64_t>& each : gradients) {
    for (std::size_t i = 0; i < each.size(); ++i) {
      GradientMark mark;
      mark.ready_ns = at + 10 + static_cast<std::int64_t>(i);
      mark.numel = each[i];
      rank.gradients.push_back(mark);
    }
    rank.optimizers.push_back({at + 80, at + 90});
    at += 100;
  }
  return steps_of(rank);
}

// A GAN steps its discriminator's optimizer and its generator's: an iteration has both. Two optimizers of one backward
// step one after the other. WGAN steps the discriminator several times. Experts get gradients irregularly.
TEST(FindSteps, OptimizersThatStepInTurnAreOneStep) {
  const std::vector<std::int64_t> d{10, 20}, g{10, 20, 30}, none{};
  const auto steps = [](const std::vector<std::vector<std::int64_t>>& gradients) {
    const HostSteps found = of_optimizers(gradients);
    return std::pair(found.optimizers_in_turn, found.steps.size());
  };
  EXPECT_EQ(steps({d, g, d, g, d, g, d}), (std::pair<std::int64_t, std::size_t>{2, 3}));
  EXPECT_EQ(steps({g, none, g, none, g}), (std::pair<std::int64_t, std::size_t>{2, 2}));
  EXPECT_EQ(steps({d, d, d, g, d, d, d, g, d}), (std::pair<std::int64_t, std::size_t>{4, 2}));
  EXPECT_EQ(steps({d, d, d, d, d}), (std::pair<std::int64_t, std::size_t>{1, 4}));
  EXPECT_EQ(steps({d, g, d, d, g, g, d}), (std::pair<std::int64_t, std::size_t>{1, 6}));
  EXPECT_EQ(of_optimizers({d, g, d, g, d, g, d}).steps[0].time.end_ns, 290);
  EXPECT_TRUE(of_optimizers({d, g, d, d, g, g, d}).optimizers_mixed);
  EXPECT_FALSE(of_optimizers({d, g, d, g, d, g, d}).optimizers_mixed);
  EXPECT_FALSE(of_optimizers({d, d, none, d, d, g}).optimizers_mixed) << "one step that differs";
}

// prof.step() after each step of an actor and of a critic: the median of both kinds is neither.
TEST(FindSteps, AnnotatedStepsOfSeveralModelsAreMixed) {
  const auto mixed = [](const std::vector<std::vector<std::int64_t>>& gradients) {
    RankTrace rank{SortOptions{}};
    for (std::size_t step = 0; step < gradients.size(); ++step) {
      const auto at = static_cast<std::int64_t>(100 * step);
      annotate(rank, static_cast<std::int64_t>(step), at, at + 100);
      for (std::size_t i = 0; i < gradients[step].size(); ++i) {
        GradientMark mark;
        mark.ready_ns = at + 10 + static_cast<std::int64_t>(i);
        mark.numel = gradients[step][i];
        rank.gradients.push_back(mark);
      }
      rank.optimizers.push_back({at + 80, at + 90});
    }
    const HostSteps found = steps_of(rank);
    EXPECT_EQ(found.steps.size(), gradients.size());
    return found.optimizers_mixed;
  };
  const std::vector<std::int64_t> actor{10, 20, 30}, critic{10, 20}, large{10, 20, 100}, none{};
  EXPECT_TRUE(mixed({actor, critic, actor, critic}));
  EXPECT_TRUE(mixed({actor, actor, large, large, actor}));
  EXPECT_FALSE(mixed({actor, actor, actor, actor, actor}));
  EXPECT_FALSE(mixed({actor, actor, critic, actor, actor})) << "one step that differs";
  EXPECT_FALSE(mixed({none, none, none, none}));
}

// Rounded to microseconds, an annotation may begin one before its neighbour's end.
TEST(FindSteps, AnnotationsThatOverlapByRoundingAreKept) {
  RankTrace rank{SortOptions{}};
  annotate(rank, 0, 0, 1'000'001);
  annotate(rank, 1, 1'000'000, 2'000'000);
  annotate(rank, 2, 1'900'000, 3'000'000);
  const HostSteps found = steps_of(rank);
  ASSERT_EQ(found.steps.size(), 2U);
  EXPECT_EQ(found.steps[0].time.end_ns, 1'000'000);
  EXPECT_EQ(found.left_out, 1);
}

TEST(FindSteps, ForwardsBoundThemElse) {
  RankTrace rank{SortOptions{}};
  rank.optimizers = {{900, 1000}};
  rank.forwards = {{10, 20}, {1010, 1020}, {2010, 2020}};
  const HostSteps found = steps_of(rank);
  EXPECT_EQ(found.source, StepSource::forwards);
  ASSERT_EQ(found.steps.size(), 2U);
  EXPECT_EQ(found.steps[1].time.start_ns, 1010);
  EXPECT_EQ(found.steps[1].time.end_ns, 2010);
}

TEST(FindSteps, NothingToFindThemBy) {
  RankTrace rank{SortOptions{}};
  rank.forwards = {{10, 20}};
  rank.backward_ops.push({30, 40});
  const HostSteps found = steps_of(rank);
  EXPECT_EQ(found.source, StepSource::none);
  EXPECT_TRUE(found.steps.empty());
}

TEST(FindSteps, APassFromForwardToTheLastOfAutograd) {
  RankTrace rank{SortOptions{}};
  annotate(rank, 0, 0, 1000);
  rank.data_waits = {{10, 90}};
  rank.forwards = {{100, 300}};
  rank.optimizers = {{700, 900}};
  for (const std::int64_t start_ns : {400, 450, 500}) rank.backward_ops.push({start_ns, start_ns + 60});
  const HostSteps found = steps_of(rank);
  ASSERT_EQ(found.steps.size(), 1U);
  const HostStep& step = found.steps[0];
  ASSERT_EQ(step.passes.size(), 1U);
  EXPECT_EQ(step.passes[0].forward.start_ns, 100);
  EXPECT_EQ(step.passes[0].forward.end_ns, 400);
  EXPECT_EQ(step.passes[0].backward.start_ns, 400);
  EXPECT_EQ(step.passes[0].backward.end_ns, 560);
  EXPECT_EQ(step.data_waits.size(), 1U);
  EXPECT_EQ(step.collectives_until_ns(), 700);
}

TEST(FindSteps, WithoutAForwardItBeginsBehindTheWaitForData) {
  RankTrace rank{SortOptions{}};
  annotate(rank, 0, 0, 1000);
  rank.data_waits = {{10, 90}};
  rank.backward_ops.push({400, 500});
  const HostSteps found = steps_of(rank);
  ASSERT_EQ(found.steps[0].passes.size(), 1U);
  EXPECT_EQ(found.steps[0].passes[0].forward.start_ns, 90);
  EXPECT_EQ(found.steps[0].collectives_until_ns(), 1000);
}

TEST(FindSteps, AccumulatedGradientsAreAPassEach) {
  RankTrace rank{SortOptions{}};
  for (std::int64_t step = 0; step < 2; ++step) {
    const std::int64_t at = 1000 * step;
    annotate(rank, step, at, at + 1000);
    for (std::int64_t pass = 0; pass < 3; ++pass) {
      rank.forwards.push_back({at + 250 * pass, at + 250 * pass + 100});
      rank.backward_ops.push({at + 250 * pass + 110, at + 250 * pass + 150});
      rank.backward_ops.push({at + 250 * pass + 160, at + 250 * pass + 240});
    }
    rank.optimizers.push_back({at + 800, at + 900});
  }
  const HostSteps found = steps_of(rank);
  ASSERT_EQ(found.steps.size(), 2U);
  for (const HostStep& step : found.steps) {
    ASSERT_EQ(step.passes.size(), 3U);
    for (std::int64_t pass = 0; pass < 3; ++pass) {
      const Pass& seen = step.passes[static_cast<std::size_t>(pass)];
      EXPECT_EQ(seen.forward.start_ns, step.time.start_ns + 250 * pass);
      EXPECT_EQ(seen.backward.start_ns, step.time.start_ns + 250 * pass + 110);
      EXPECT_EQ(seen.backward.end_ns, step.time.start_ns + 250 * pass + 240);
    }
  }
}

// Three micro-batches a step, each 250 ns: a layer's operations at 10 and 60, autograd's functions from 110 to 150 and
// from 160 to 240, two gradients. Forwards are not annotated.
RankTrace unannotated(std::int64_t steps) {
  RankTrace rank{SortOptions{}};
  for (std::int64_t step = 0; step < steps; ++step) {
    const std::int64_t at = 1000 * step;
    annotate(rank, step, at, at + 1000);
    for (std::int64_t pass = 0; pass < 3; ++pass) {
      const std::int64_t begin = at + 250 * pass;
      for (const std::int64_t op : {10, 60}) rank.forward_ops.push({begin + op, begin + op + 40});
      rank.backward_ops.push({begin + 110, begin + 150});
      rank.forward_ops.push({begin + 120, begin + 140});  // recomputed in backward
      rank.backward_ops.push({begin + 160, begin + 240});
      for (const std::int64_t ready : {145, 235}) rank.gradients.push_back({begin + ready, 8, 4, 0});
    }
    rank.optimizers.push_back({at + 800, at + 900});
  }
  return rank;
}

TEST(FindSteps, WithoutAnnotatedForwardsLayersOperationsTellTheBackwardsApart) {
  RankTrace rank = unannotated(2);
  const HostSteps found = steps_of(rank);
  ASSERT_EQ(found.steps.size(), 2U);
  for (const HostStep& step : found.steps) {
    ASSERT_EQ(step.passes.size(), 3U);
    for (std::int64_t pass = 0; pass < 3; ++pass) {
      const Pass& seen = step.passes[static_cast<std::size_t>(pass)];
      EXPECT_EQ(seen.backward.start_ns, step.time.start_ns + 250 * pass + 110);
      EXPECT_EQ(seen.backward.end_ns, step.time.start_ns + 250 * pass + 240);
      EXPECT_EQ(seen.forward.start_ns, step.time.start_ns + (pass == 0 ? 0 : 250 * pass - 10))
          << "after the last backward";
    }
  }
}

TEST(FindSteps, AnOperationBesideABackwardDoesNotDivideIt) {
  RankTrace rank{SortOptions{}};
  annotate(rank, 0, 0, 1000);
  rank.forward_ops.push({100, 150});
  for (const std::int64_t at : {400, 500, 600}) {
    rank.backward_ops.push({at, at + 50});
    rank.gradients.push_back({at + 40, 8, 4, 0});
  }
  rank.forward_ops.push({560, 590});  // of a hook that compresses two gradients
  HostSteps found = steps_of(rank);
  ASSERT_EQ(found.steps[0].passes.size(), 1U);
  EXPECT_EQ(found.steps[0].passes[0].backward.start_ns, 400);
  EXPECT_EQ(found.steps[0].passes[0].backward.end_ns, 650);
}

TEST(FindSteps, GradientsOfAPenaltyAreOfTheBackwardBehindThem) {
  RankTrace rank{SortOptions{}};
  annotate(rank, 0, 0, 1000);
  for (const std::int64_t at : {100, 500}) {
    rank.forward_ops.push({at, at + 50});
    rank.backward_ops.push({at + 60, at + 100});  // accumulates nothing
    rank.forward_ops.push({at + 110, at + 150});
    rank.backward_ops.push({at + 200, at + 300});
    rank.gradients.push_back({at + 290, 8, 4, 0});
  }
  const HostSteps found = steps_of(rank);
  ASSERT_EQ(found.steps[0].passes.size(), 2U);
  EXPECT_EQ(found.steps[0].passes[1].backward.start_ns, 560);
  EXPECT_EQ(found.steps[0].passes[1].backward.end_ns, 800);
}

TEST(UsualPasses, TheOneThatMostStepsHave) {
  std::vector<HostStep> steps(6);
  for (std::size_t i = 0; i < 5; ++i) steps[i].passes.resize(i == 3 ? 7 : i == 4 ? 1 : 2);
  std::vector<const HostStep*> all;
  for (const HostStep& step : steps) all.push_back(&step);
  const UsualPasses usual = usual_passes(all);
  EXPECT_EQ(usual.count, 2);
  EXPECT_EQ(usual.other_steps, 2) << "a step without a backward does not count";
  EXPECT_EQ(usual_passes({}).count, 1);
}

// A GAN: its two networks have a backward and an optimizer's step each.
TEST(UsualPasses, AnOptimizersStepBetweenTwoBackwardsIsNoAccumulation) {
  const auto step = [](std::int64_t passes, bool each) {
    HostStep made;
    for (std::int64_t k = 0; k < passes; ++k) {
      made.passes.push_back({{100 * k, 100 * k + 40}, {100 * k + 40, 100 * k + 80}});
      if (each || k + 1 == passes) made.optimizers.push_back({100 * k + 85, 100 * k + 95});
    }
    return made;
  };
  const auto usual = [](const HostStep& made) { return usual_passes({&made, &made}); };
  EXPECT_EQ(usual(step(2, true)).updates, 2);
  EXPECT_EQ(usual(step(2, true)).accumulation(), 1);
  EXPECT_EQ(usual(step(4, false)).updates, 1);
  EXPECT_EQ(usual(step(4, false)).accumulation(), 4);
  HostStep both = step(4, false);  // two networks with two micro-batches each
  both.optimizers.push_back({185, 195});
  EXPECT_EQ(usual(both).accumulation(), 2);
}

// Optimizer.step(closure). LBFGS evaluates its closure several times with one batch. Lightning's closure has the last
// micro-batch of a step.
TEST(UsualPasses, AClosureThatIsEvaluatedAgainIsNoAccumulation) {
  const auto step = [](std::int64_t outside, std::int64_t inside) {
    HostStep made;
    for (std::int64_t k = 0; k < outside + inside; ++k)
      made.passes.push_back({{100 * k, 100 * k + 40}, {100 * k + 40, 100 * k + 80}});
    made.optimizers.push_back({100 * outside, 100 * (outside + inside)});
    return made;
  };
  const auto usual = [](const HostStep& made) { return usual_passes({&made, &made}); };
  EXPECT_EQ(usual(step(0, 4)).count, 4);
  EXPECT_EQ(usual(step(0, 4)).again, 3);
  EXPECT_EQ(usual(step(0, 4)).accumulation(), 1);
  EXPECT_EQ(usual(step(3, 1)).again, 0);
  EXPECT_EQ(usual(step(3, 1)).accumulation(), 4);
  EXPECT_EQ(usual(step(1, 5)).accumulation(), 2);
}

TEST(FindSteps, WrappedModulesForwardsAreOne) {
  RankTrace rank{SortOptions{}};
  annotate(rank, 0, 0, 1000);
  rank.forwards = {{100, 300}, {120, 200}};
  rank.backward_ops.push({400, 500});
  EXPECT_EQ(steps_of(rank).steps[0].passes.size(), 1U);
}

}  // namespace
}  // namespace ddpprof::import
