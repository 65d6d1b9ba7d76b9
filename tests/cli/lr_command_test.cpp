// ddpprof lr's options: each takes the place of the scenario's value, and says what is wrong with it.
#include <gmock/gmock.h>

#include <map>
#include <nlohmann/json.hpp>

#include "tests/cli/command_line.hpp"

namespace ddpprof {
namespace {

using test::CommandLine;
using test::Outcome;
using test::run_ddpprof;
using testing::HasSubstr;

std::map<std::string, nlohmann::json> tables_of(const Outcome& outcome) {
  EXPECT_EQ(outcome.code, 0) << outcome.messages;
  const auto document = nlohmann::json::parse(outcome.out);
  std::map<std::string, nlohmann::json> tables;
  for (const auto& table : document["tables"]) tables[table["name"].get<std::string>()] = table;
  return tables;
}

// 10,000 samples over 4 workers in steps of 64 · 2 each: 2500 / 64 = 40 micro-batches, 20 steps an epoch of 128.
TEST_F(CommandLine, LrTakesWhatDiffersFromTheScenario) {
  const auto tables = tables_of(run_ddpprof({"lr",
                                             database_,
                                             "--workers",
                                             "4",
                                             "--base",
                                             "0.1",
                                             "--base-workers",
                                             "2",
                                             "--batch-per-worker",
                                             "64",
                                             "--accumulation",
                                             "2",
                                             "--epochs",
                                             "3",
                                             "--warmup-epochs",
                                             "0.5",
                                             "--optimizer",
                                             "adaptive",
                                             "--format",
                                             "json"}));
  const auto& row = tables.at("learning_rate_rules")["rows"].at(0);
  EXPECT_EQ(row["global_batch_samples"], 512);
  EXPECT_DOUBLE_EQ(row["linear_lr"], 0.2) << "twice the batch of two workers";
  EXPECT_EQ(row["steps_per_epoch"], 20);
  EXPECT_EQ(row["total_steps"], 60);
  EXPECT_EQ(row["warmup_steps"], 10);
  EXPECT_NEAR(row["beta1"], 0.8, 1e-12) << "1 - 2 (1 - 0.9)";
}

// The measured step of ddp at N = 1 is 100 ms, an epoch 313 steps.
TEST_F(CommandLine, LrSaysHowLongTheTrainingTakes) {
  const auto tables = tables_of(run_ddpprof({"lr", database_, "--workers", "1", "--epochs", "2", "--format", "json"}));
  const auto& row = tables.at("training_time")["rows"].at(0);
  EXPECT_EQ(row["strategy"], "ddp");
  EXPECT_NEAR(row["time_s"], 62.6, 1e-9);
}

TEST_F(CommandLine, LrSaysWhatATargetNeedsWhereTheLossesAreTooFew) {
  const Outcome outcome = run_ddpprof({"lr", database_, "--workers", "8", "--target-loss", "1"});
  EXPECT_EQ(outcome.code, 0) << outcome.messages;
  EXPECT_THAT(outcome.out, HasSubstr("No time to a target"));
  EXPECT_THAT(outcome.out, HasSubstr("measure.steps"));
}

TEST_F(CommandLine, LrSaysWhatIsWrongWithAnOption) {
  const std::pair<std::vector<std::string>, const char*> all[] = {
      {{"--optimizer", "adaptiv"}, "did you mean 'adaptive'?"},
      {{"--warmup-epochs", "-1"}, "--warmup-epochs: a warm-up takes 0 epochs or more"},
      {{"--target-loss", "inf"}, "--target-loss: the value is not finite"},
      {{"--epochs", "0"}, "--epochs"},
      {{"--batch-per-worker", "0"}, "--batch-per-worker"},
      {{"--accumulation", "100001"}, "--accumulation"},
      {{"--base-workers", "0"}, "--base-workers"},
  };
  for (const auto& [wrong, said] : all) {
    std::vector<std::string> arguments = {"lr", database_, "--workers", "8"};
    arguments.insert(arguments.end(), wrong.begin(), wrong.end());
    const Outcome outcome = run_ddpprof(arguments);
    EXPECT_EQ(outcome.code, 2) << said;
    EXPECT_THAT(outcome.messages, HasSubstr(said));
    EXPECT_EQ(outcome.out, "");
  }
}

}  // namespace
}  // namespace ddpprof
