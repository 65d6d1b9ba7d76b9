// Parameters and buckets from shapes of gradients and sizes of messages.
#include "analysis/import/trace/collectives/gradient_group.hpp"
#include "analysis/import/trace/model.hpp"

#include <gmock/gmock.h>

#include <algorithm>

namespace ddpprof::import {
namespace {

// One step from 0 to 1000 ns with backward from 400 to 600; gradients of 100, 200 and 300 floats become ready in this
// order.
struct Made {
  RankTrace rank{SortOptions{}};
  HostStep step;
  std::vector<Collective> collectives;
  TrainingOptions options;

  Made() {
    step.time = {0, 1000};
    step.passes = {{{0, 400}, {400, 600}}};
    for (std::int64_t i = 1; i <= 3; ++i) {
      GradientMark mark;
      mark.ready_ns = 400 + 50 * i;
      mark.numel = 100 * i;
      mark.element_bytes = 4;
      mark.shape = rank.names.intern("[" + std::to_string(100 * i) + "]");
      rank.gradients.push_back(mark);
    }
  }
  void bucket(std::int64_t launch_ns, std::int64_t bytes) {
    Collective collective;
    collective.op = CollectiveOp::all_reduce;
    collective.sequence = collectives.size();
    collective.launch_ns = launch_ns;
    collective.run = Span{launch_ns + 10, launch_ns + 30};
    collective.bytes = bytes;
    collectives.push_back(collective);
  }
  ModelFacts facts() const {
    std::vector<Collective> marked = collectives;
    mark_gradients(rank, {step}, marked);
    return model_of(rank, {&step}, marked, options, {[](std::int64_t moment_ns) { return moment_ns + 7; }});
  }
};

bool says(const ModelFacts& facts, const std::string& code) {
  return std::any_of(facts.notes.begin(), facts.notes.end(), [&](const Note& note) { return note.code == code; });
}

TEST(Model, ParametersRunAgainstTheOrderOfGradientsAndFillTheBuckets) {
  Made made;
  made.bucket(520, 1200);
  made.bucket(560, 1200);
  const ModelFacts facts = made.facts();
  EXPECT_TRUE(facts.parameters_known);
  EXPECT_EQ(facts.parameter_count, 600);
  EXPECT_EQ(facts.parameter_bytes, 2400);
  ASSERT_EQ(facts.parameters.size(), 3U);
  EXPECT_EQ(facts.parameters[0].bytes, 1200) << "ready last, registered first";
  EXPECT_EQ(facts.parameters[2].numel, 100);
  ASSERT_EQ(facts.members.size(), 3U);
  EXPECT_EQ(facts.members[0].bucket, 0);
  EXPECT_EQ(facts.members[1].bucket, 0);
  EXPECT_EQ(facts.members[2].bucket, 1);
  ASSERT_EQ(facts.gradients.size(), 3U);
  EXPECT_EQ(facts.gradients[0].time_ns, 457) << "on the clock of the rank's times";
  ASSERT_EQ(facts.collectives.size(), 2U);
  EXPECT_EQ(facts.collectives[1].bucket, 1);
  EXPECT_TRUE(facts.notes.empty());
}

TEST(Model, CompressedGradientsTravelSmaller) {
  Made made;
  made.bucket(520, 600);
  made.bucket(560, 600);
  const ModelFacts facts = made.facts();
  EXPECT_TRUE(facts.parameters_known);
  EXPECT_EQ(facts.parameter_bytes, 2400);
  ASSERT_EQ(facts.members.size(), 3U);
  EXPECT_EQ(facts.members[2].bucket, 1);
  EXPECT_EQ(facts.collectives[0].bytes, 600);
}

TEST(Model, MessagesUnlikeGradientsAreTakenForParameters) {
  Made made;
  made.bucket(520, 1200);
  made.bucket(560, 5000);
  const ModelFacts facts = made.facts();
  EXPECT_TRUE(says(facts, "gradients_unlike_messages"));
  EXPECT_FALSE(facts.parameters_known);
  EXPECT_EQ(facts.parameter_bytes, 6200);
  EXPECT_EQ(facts.parameters.size(), 2U);
}

// PowerSGD sends factors of the gradients: the model has the 600 elements of the gradients, and its buckets are the messages.
TEST(Model, CompressedMessagesDoNotMakeTheModelSmaller) {
  Made made;
  made.bucket(520, 60);
  made.bucket(560, 40);
  const ModelFacts facts = made.facts();
  EXPECT_TRUE(says(facts, "gradients_unlike_messages"));
  EXPECT_EQ(facts.parameter_count, 600);
  EXPECT_EQ(facts.parameter_bytes, 2400);
  ASSERT_EQ(facts.parameters.size(), 2U);
  EXPECT_EQ(facts.parameters[0].bytes, 40);
}

TEST(Model, GradientsThatDoNotFillTheBucketsAreSaid) {
  Made made;
  made.bucket(520, 1000);  // inside the gradients' range
  made.bucket(560, 1400);
  const ModelFacts facts = made.facts();
  EXPECT_TRUE(says(facts, "buckets_unlike_gradients"));
  EXPECT_TRUE(facts.parameters_known);
  EXPECT_TRUE(facts.members.empty());
}

// Gradients in bfloat16, or compressed to it: a message of 1200 bytes has 600 of them.
TEST(Model, WithoutShapesTheTypeOfAMessageGivesItsElements) {
  Made made;
  for (GradientMark& mark : made.rank.gradients) mark.numel = 0;
  made.bucket(520, 1200);
  made.bucket(560, 1200);
  made.collectives.back().element_bytes = 2;
  const ModelFacts facts = made.facts();
  EXPECT_EQ(facts.parameter_bytes, 2400);
  EXPECT_EQ(facts.parameter_count, 300 + 600);
}

TEST(Model, WithoutShapesEachBucketStandsForAParameter) {
  Made made;
  for (GradientMark& mark : made.rank.gradients) mark.numel = 0;
  made.bucket(520, 1200);
  made.bucket(560, 400);
  const ModelFacts facts = made.facts();
  EXPECT_TRUE(says(facts, "parameters_by_bucket"));
  ASSERT_EQ(facts.parameters.size(), 2U);
  EXPECT_EQ(facts.parameters[0].bytes, 400) << "the last bucket's parameters are registered first";
  ASSERT_EQ(facts.members.size(), 2U);
  EXPECT_EQ(facts.members[0].bucket, 0);
  EXPECT_EQ(facts.members[0].parameter, 1);
  ASSERT_EQ(facts.gradients.size(), 2U);
  EXPECT_EQ(facts.gradients[0].time_ns, 527);
}

TEST(Model, SizesThatWereNotRecorded) {
  Made made;
  made.rank.gradients.clear();
  made.bucket(520, 0);
  EXPECT_TRUE(says(made.facts(), "sizes_unknown"));
  made.bucket(560, 0);
  made.options.parameter_bytes = 4000;
  const ModelFacts facts = made.facts();
  EXPECT_TRUE(says(facts, "sizes_assumed"));
  EXPECT_EQ(facts.parameter_bytes, 4000);
  EXPECT_EQ(facts.collectives[0].bytes + facts.collectives[1].bytes, 4000);
}

TEST(Model, SizesThatWereNotRecordedFollowFromTheGradientsBeforeEachLaunch) {
  Made made;  // gradients of 400, 800 and 1200 bytes are ready at 450, 500 and 550
  made.bucket(520, 0);
  made.bucket(560, 0);
  made.options.parameter_bytes = 4000;
  const ModelFacts facts = made.facts();
  EXPECT_EQ(facts.parameter_bytes, 2400);
  EXPECT_EQ(facts.collectives[0].bytes, 1200);
  EXPECT_EQ(facts.collectives[1].bytes, 1200);
  ASSERT_EQ(facts.members.size(), 3U);
  EXPECT_EQ(facts.members[2].bucket, 1);
  EXPECT_TRUE(says(facts, "sizes_by_gradients"));
  EXPECT_TRUE(says(facts, "param_bytes_unused"));
  Made twice;  // nothing became ready between the launches
  twice.bucket(560, 0);
  twice.bucket(570, 0);
  EXPECT_TRUE(says(twice.facts(), "sizes_unknown"));
}

TEST(Model, OneProcessAloneTakesItsSizesFromShapes) {
  const ModelFacts facts = Made().facts();
  EXPECT_TRUE(facts.parameters_known);
  EXPECT_EQ(facts.parameter_bytes, 2400);
  EXPECT_EQ(facts.gradients.size(), 3U);
  EXPECT_TRUE(facts.notes.empty());
}

TEST(Model, OneProcessAloneWithoutShapes) {
  Made made;
  for (GradientMark& mark : made.rank.gradients) mark.numel = 0;
  EXPECT_TRUE(says(made.facts(), "gradients_unknown"));
  EXPECT_EQ(made.facts().parameter_bytes, 0);
  made.options.parameter_bytes = 1000;
  const ModelFacts facts = made.facts();
  EXPECT_TRUE(says(facts, "sizes_assumed"));
  EXPECT_EQ(facts.parameter_bytes, 1000);
  ASSERT_EQ(facts.parameters.size(), 3U);
  EXPECT_EQ(facts.parameters[0].bytes, 332);
  EXPECT_EQ(facts.parameters[2].bytes, 336) << "the remaining bytes";
  ASSERT_EQ(facts.gradients.size(), 3U);
  EXPECT_EQ(facts.gradients[0].parameter, 2) << "ready first, registered last";
  EXPECT_EQ(facts.gradients[0].time_ns, 457);
  made.rank.gradients.clear();
  const ModelFacts one = made.facts();
  ASSERT_EQ(one.gradients.size(), 1U);
  EXPECT_EQ(one.gradients[0].time_ns, 607) << "at the backward's end";
  EXPECT_EQ(one.parameters.at(0).bytes, 1000);
}

TEST(Model, CollectivesBesideBackwardAreNoBuckets) {
  Made made;
  made.bucket(100, 64);
  made.bucket(520, 2400);
  made.collectives[0].op = CollectiveOp::all_reduce;
  const ModelFacts facts = made.facts();
  EXPECT_TRUE(facts.parameters_known);
  ASSERT_EQ(facts.collectives.size(), 2U);
  EXPECT_EQ(facts.collectives[1].bucket, 0);
  EXPECT_NE(facts.collectives[0].bucket, 0);
}

}  // namespace
}  // namespace ddpprof::import
