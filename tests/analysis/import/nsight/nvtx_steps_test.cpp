// Steps and phases from NVTX ranges.
#include <gmock/gmock.h>

#include <algorithm>

#include "tests/analysis/import/nsight/export_file.hpp"

namespace ddpprof::import::nsight_test {
namespace {

using testing::HasSubstr;

// Four steps of 1000 ns from 10'000 on; each launches one kernel.
void add_work(Export& file, std::int64_t steps = 4) {
  for (std::int64_t i = 0; i < steps; ++i) {
    const std::int64_t begin_ns = 10'000 + 1000 * i;
    file.call(begin_ns + 100, begin_ns + 110, i + 1);
    file.kernel({.start_ns = begin_ns + 200, .end_ns = begin_ns + 800, .correlation = i + 1});
  }
}

std::vector<std::int64_t> numbers(const ReadRank& rank) {
  std::vector<std::int64_t> numbers;
  for (const ingest::StepFact& step : rank.training.shard.steps) numbers.push_back(step.step);
  return numbers;
}

TEST(NsightSteps, ByTextAndByNumberOfTheText) {
  for (const bool by_id : {false, true}) {
    Export file;
    add_work(file);
    for (std::int64_t i = 0; i < 4; ++i)
      file.range({.start_ns = 10'000 + 1000 * i,
                  .end_ns = 10'950 + 1000 * i,
                  .name = "iteration " + std::to_string(i + 5),
                  .by_id = by_id});
    const std::vector<ReadRank> ranks = read(file.done());
    EXPECT_THAT(numbers(ranks.at(0)), testing::ElementsAre(5, 6, 7, 8)) << by_id;
    EXPECT_EQ(ranks[0].training.device_times.size(), 5U);
    EXPECT_EQ(ranks[0].training.device_times[1].time.compute_ns, 600);
    EXPECT_EQ(ranks[0].training.device_times[1].name, "iteration 5");
  }
}

TEST(NsightSteps, OfALoopInAnotherThreadAreNotMixedIn) {
  Export file;
  add_work(file);
  for (std::int64_t i = 0; i < 4; ++i) {
    file.range({.start_ns = 10'000 + 1000 * i, .end_ns = 10'900 + 1000 * i, .name = "step " + std::to_string(i)});
    file.range({.start_ns = 10'050 + 1000 * i,
                .end_ns = 10'060 + 1000 * i,
                .name = "batch " + std::to_string(90 + i),
                .tid = 101});
  }
  EXPECT_THAT(numbers(read(file.done()).at(0)), testing::ElementsAre(0, 1, 2, 3));
}

TEST(NsightSteps, OfSeveralEpochsAreNumberedThrough) {
  Export file;
  add_work(file);
  for (std::int64_t i = 0; i < 4; ++i)
    file.range({.start_ns = 10'000 + 1000 * i,
                .end_ns = 10'900 + 1000 * i,
                .name = "epoch " + std::to_string(i / 2) + " step " + std::to_string(i % 2)});
  EXPECT_THAT(numbers(read(file.done()).at(0)), testing::ElementsAre(0, 1, 2, 3));
}

TEST(NsightSteps, EvaluationIsNoStepThoughItLastsLonger) {
  for (const char* name : {"val iteration ", "eval_step", "test step "}) {
    Export file;
    add_work(file);
    for (std::int64_t i = 0; i < 4; ++i) {
      file.range(
          {.start_ns = 10'000 + 1000 * i, .end_ns = 10'900 + 1000 * i, .name = "iteration " + std::to_string(i)});
      file.range({.start_ns = 30'000 + 9000 * i, .end_ns = 38'900 + 9000 * i, .name = name + std::to_string(i)});
    }
    const std::vector<ReadRank> ranks = read(file.done());
    ASSERT_EQ(ranks.at(0).training.shard.steps.size(), 4U) << name;
    EXPECT_EQ(ranks[0].training.device_times[1].name, "iteration 0") << name;
  }
}

TEST(NsightSteps, RangesAroundAnOptimizerArePreferredAndTheOthersAreNamed) {
  Export file;
  add_work(file);
  for (std::int64_t i = 0; i < 4; ++i) {
    file.range({.start_ns = 10'000 + 1000 * i, .end_ns = 10'900 + 1000 * i, .name = "iteration " + std::to_string(i)});
    file.range({.start_ns = 10'700 + 1000 * i, .end_ns = 10'800 + 1000 * i, .name = "optimizer"});
    file.range({.start_ns = 30'000 + 9000 * i, .end_ns = 38'900 + 9000 * i, .name = "batch " + std::to_string(i)});
  }
  const std::vector<ReadRank> ranks = read(file.done());
  ASSERT_EQ(ranks.at(0).training.shard.steps.size(), 4U);
  EXPECT_EQ(ranks[0].training.device_times[1].name, "iteration 0");
  EXPECT_THAT(note(ranks[0], "step_ranges"), testing::AllOf(HasSubstr("\"iteration\""), HasSubstr("batch")));
}

TEST(NsightSteps, ANameThatSaysStepNeedsNoNumber) {
  Export file;
  add_work(file);
  for (std::int64_t i = 0; i < 4; ++i)
    file.range({.start_ns = 10'000 + 1000 * i, .end_ns = 10'900 + 1000 * i, .name = "train_step", .type = 60});
  const std::vector<ReadRank> ranks = read(file.done());
  EXPECT_EQ(numbers(ranks.at(0)).size(), 4U);
  EXPECT_EQ(note(ranks[0], "steps_by_repetition"), "");
}

TEST(NsightSteps, ANameThatComesAgainAndCoversMostIsOneAndThatIsSaid) {
  Export file;
  add_work(file);
  for (std::int64_t i = 0; i < 4; ++i) {
    file.range({.start_ns = 10'000 + 1000 * i, .end_ns = 10'900 + 1000 * i, .name = "work"});
    file.range({.start_ns = 10'010 + 1000 * i, .end_ns = 10'800 + 1000 * i, .name = "aten::linear"});
    file.range({.start_ns = 10'100 + 1000 * i, .end_ns = 10'200 + 1000 * i, .name = "inner"});
  }
  file.range({.start_ns = 10'000, .end_ns = 14'000, .name = "epoch"});
  const std::vector<ReadRank> ranks = read(file.done());
  EXPECT_EQ(numbers(ranks.at(0)).size(), 4U);
  EXPECT_THAT(note(ranks[0], "steps_by_repetition"), HasSubstr("\"work\""));
}

TEST(NsightSteps, WithoutAnyTheWholeTraceIsSaidToBeAll) {
  Export file;
  add_work(file);
  for (std::int64_t i = 0; i < 4; ++i)
    file.range({.start_ns = 10'000 + 1000 * i, .end_ns = 10'100 + 1000 * i, .name = "rarely"});
  const std::vector<ReadRank> ranks = read(file.done());
  EXPECT_TRUE(numbers(ranks.at(0)).empty());
  EXPECT_NE(note(ranks[0], "no_steps"), "");
  EXPECT_EQ(ranks[0].training.device_times.size(), 1U);
}

TEST(NsightSteps, PhasesComeFromTheirRangesOnTheDevicesClock) {
  Export file;
  for (std::int64_t i = 0; i < 3; ++i) {
    const std::int64_t t = 10'000 + 10'000 * i, id = 10 * i;
    file.range({.start_ns = t, .end_ns = t + 9000, .name = "step " + std::to_string(i)});
    file.range({.start_ns = t + 100, .end_ns = t + 900, .name = "forward"});
    file.range({.start_ns = t + 1000, .end_ns = t + 1900, .name = "backward"});
    file.range({.start_ns = t + 2000, .end_ns = t + 2900, .name = "Optimizer.step#SGD.step"});
    for (std::int64_t k = 0; k < 3; ++k) {
      file.call(t + 200 + 1000 * k, t + 210 + 1000 * k, id + k + 1);
      file.kernel({.start_ns = t + 3000 + 1000 * k, .end_ns = t + 3800 + 1000 * k, .correlation = id + k + 1});
    }
  }
  const std::vector<ReadRank> ranks = read(file.done());
  const ingest::ShardTrace& shard = ranks.at(0).training.shard;
  ASSERT_EQ(shard.steps.size(), 3U);
  ASSERT_EQ(shard.phases.size(), 9U);
  // The host had queued everything by 2900; the device works on it from 3000 on.
  EXPECT_EQ(shard.phases[0].name, ingest::PhaseName::forward);
  EXPECT_EQ(shard.phases[0].time.start_ns, 13'000);
  EXPECT_EQ(shard.phases[1].name, ingest::PhaseName::backward);
  EXPECT_EQ(shard.phases[1].time.start_ns, 14'000);
  EXPECT_EQ(shard.phases[1].time.end_ns, 14'800);
  EXPECT_EQ(shard.phases[2].name, ingest::PhaseName::optimizer);
  EXPECT_EQ(shard.phases[2].time.end_ns, 15'800);
}

TEST(NsightSteps, EmittedShapesGiveTheBatch) {
  Export file;
  add_work(file);
  for (std::int64_t i = 0; i < 4; ++i) {
    file.range(
        {.start_ns = 10'000 + 1000 * i, .end_ns = 10'900 + 1000 * i, .name = "ProfilerStep#" + std::to_string(i)});
    file.range(
        {.start_ns = 10'010 + 1000 * i,
         .end_ns = 10'050 + 1000 * i,
         .name = "aten::linear, seq = " + std::to_string(i) + ", op_id = 9, sizes = [[64, 784], [10, 784], [10]]"});
  }
  EXPECT_EQ(read(file.done()).at(0).training.batch_per_worker, 64);
}

TEST(NsightSteps, ARangeThatHadNotEndedIsSaid) {
  for (const std::optional<std::int64_t> end_ns : {std::optional<std::int64_t>(), std::optional<std::int64_t>(-1)}) {
    Export file;
    add_work(file);
    file.range({.start_ns = 10'000, .end_ns = end_ns, .name = "step 1"});
    file.range({.start_ns = 10'000, .end_ns = std::nullopt, .name = "a mark", .type = 34});
    const std::vector<ReadRank> ranks = read(file.done());
    EXPECT_EQ(note_count(ranks.at(0), "ranges_without_end"), 1);
    EXPECT_EQ(note(ranks[0], "bad_event"), "");
  }
}

TEST(NsightSteps, WithoutAnyTheAdviceIsARangeOfNvtx) {
  Export file;
  add_work(file);
  const std::vector<ReadRank> ranks = read(file.done());
  const auto& notes = ranks.at(0).training.notes;
  const auto found = std::find_if(notes.begin(), notes.end(), [](const Note& one) { return one.code == "no_steps"; });
  ASSERT_NE(found, notes.end());
  EXPECT_THAT(found->advice, HasSubstr("NVTX range"));
  EXPECT_THAT(found->advice, testing::Not(HasSubstr("prof.step")));
}

}  // namespace
}  // namespace ddpprof::import::nsight_test
