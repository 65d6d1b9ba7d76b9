// The runs of a command: their order, placeholders and variables.
#include "runner/job/job_plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runner/measure/error.hpp"

namespace ddpprof::job {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

JobRequest request() {
  JobRequest request;
  request.command = {"torchrun",  "--nproc-per-node={workers}", "train.py", "--name={workers}x{batch}", "{}",
                     "{\"a\": 1}"};
  request.workers = {1, 2};
  request.batches = {16, 32};
  return request;
}

std::vector<std::string> names(const JobRequest& of) {
  std::vector<std::string> names;
  for (const JobRun& run : make_job_plan(of)) names.push_back(run.name());
  return names;
}

std::string refusal(const JobRequest& of) {
  try {
    make_job_plan(of);
  } catch (const measure::InvalidRequest& error) {
    return error.text();
  }
  return "";
}

TEST(JobPlan, RepeatsAreInterleaved) {
  JobRequest of = request();
  of.repeats = 2;
  EXPECT_THAT(names(of), ElementsAre("n1-b16-r0", "n1-b32-r0", "n2-b16-r0", "n2-b32-r0", "n1-b16-r1", "n1-b32-r1",
                                     "n2-b16-r1", "n2-b32-r1"));
  of.command = {"train.sh"};
  of.batches.clear();
  EXPECT_THAT(names(of), ElementsAre("n1-r0", "n2-r0", "n1-r1", "n2-r1"));
}

TEST(JobPlan, ReplacesOnlyPlaceholders) {
  EXPECT_THAT(command_of(request(), {2, 32, 0}),
              ElementsAre("torchrun", "--nproc-per-node=2", "train.py", "--name=2x32", "{}", "{\"a\": 1}"));
}

TEST(JobPlan, ReplacesTheFolder) {
  JobRequest of = request();
  of.command = {"{folder}/train.py"};
  of.folder = "/jobs";
  EXPECT_THAT(command_of(of, {2, 32, 0}), ElementsAre("/jobs/train.py"));
  EXPECT_THAT(variables_of(of, {2, 32, 0}), testing::Contains(Pair("DDPPROF_FOLDER", "/jobs")));
}

// Regression: "${workers}" of a shell became "$2", which is the shell's second argument.
TEST(JobPlan, VariablesOfAShellAreNoPlaceholders) {
  JobRequest of = request();
  of.command = {"sh", "-c", "workers=3; echo ${workers} {workers} ${batch} ${lr}"};
  EXPECT_THAT(command_of(of, {2, 32, 0}), ElementsAre("sh", "-c", "workers=3; echo ${workers} 2 ${batch} ${lr}"));
  of.batches.clear();
  EXPECT_EQ(refusal(of), "");
  EXPECT_TRUE(has_placeholder(of.command, "workers"));
  EXPECT_FALSE(has_placeholder(of.command, "lr"));
}

TEST(JobPlan, ACommandIsShownInOneLine) {
  EXPECT_EQ(text_of({"sh", "-c", "set -e\ntrain"}), "sh -c set -e\\ntrain");
}

TEST(JobPlan, ExportsTheValues) {
  JobRequest of = request();
  of.nodes = 3;
  of.learning_rate = "0.1";
  of.steps = "20-60";
  EXPECT_THAT(variables_of(of, {2, 32, 0}),
              ElementsAre(Pair("DDPPROF_BATCH", "32"), Pair("DDPPROF_LR", "0.1"), Pair("DDPPROF_NODES", "3"),
                          Pair("DDPPROF_STEPS", "20-60"), Pair("DDPPROF_WORKERS", "2")));
  EXPECT_THAT(variables_of(JobRequest{}, {2, std::nullopt, 0}),
              ElementsAre(Pair("DDPPROF_NODES", "1"), Pair("DDPPROF_WORKERS", "2")));
}

TEST(JobPlan, RefusesAPlaceholderWithoutAValue) {
  JobRequest of = request();
  of.batches.clear();
  EXPECT_THAT(refusal(of), HasSubstr("{batch}, and --batches is missing"));
  of = request();
  of.command.push_back("--lr={lr}");
  EXPECT_THAT(refusal(of), HasSubstr("{lr}, and --lr is missing"));
  of.of_file = true;
  EXPECT_THAT(refusal(of), HasSubstr("{lr}, and workload.lr is missing"));
}

}  // namespace
}  // namespace ddpprof::job
