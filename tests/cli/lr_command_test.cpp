// ddpprof lr, as a user calls it: its rates, and its options, which replace the scenario's values.
#include <gmock/gmock.h>

#include <map>
#include <nlohmann/json.hpp>

#include "tests/cli/command_line.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof {
namespace {

using test::CommandLine;
using test::Outcome;
using test::run_ddpprof;
using testing::AllOf;
using testing::HasSubstr;

std::map<std::string, nlohmann::json> tables_of(const Outcome& outcome) {
  EXPECT_EQ(outcome.code, 0) << outcome.messages;
  const auto document = nlohmann::json::parse(outcome.out);
  std::map<std::string, nlohmann::json> tables;
  for (const auto& table : document["tables"]) tables[table["name"].get<std::string>()] = table;
  return tables;
}

TEST_F(CommandLine, LrScalesLinearlyWithTheWorkers) {
  const Outcome outcome = run_ddpprof({"lr", database_, "--workers", "8,2", "--format", "json"});
  ASSERT_EQ(outcome.code, 0) << outcome.messages;
  const auto document = nlohmann::json::parse(outcome.out);
  const auto& rows = document["tables"][0]["rows"];
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0]["workers"], 2);
  EXPECT_DOUBLE_EQ(rows[0]["target_lr"], 0.02);
  EXPECT_DOUBLE_EQ(rows[1]["target_lr"], 0.08);
  // 10,000 samples over 8 workers: 1250 each, 40 steps of 32; 5 epochs of warm-up.
  EXPECT_EQ(rows[1]["warmup_steps"], 200);
  EXPECT_EQ(rows[1]["global_batch_samples"], 256);
}

TEST_F(CommandLine, WithoutMeasurementsLrEndsWithFive) {
  const Outcome outcome = run_ddpprof({"lr", (folder_ / "empty.db").string(), "--workers", "8"});
  EXPECT_EQ(outcome.code, 5) << outcome.messages;
  EXPECT_EQ(outcome.out, "");
  EXPECT_TRUE(outcome.messages.starts_with("ddpprof lr: ")) << outcome.messages;
}

// Regression: 10^6 workers with 10^13 samples each overflowed to -8446744073709551616 samples, with a rate of NaN.
TEST_F(CommandLine, LrRefusesAGlobalBatchThatCannotBeCounted) {
  const std::vector<std::string> all[] = {
      {"--workers", "1000000", "--batch-per-worker", "100000000", "--accumulation", "100000"},
      {"--workers", "1", "--base-workers", "1000000", "--batch-per-worker", "100000000", "--accumulation", "100000"}};
  for (const std::vector<std::string>& large : all) {
    std::vector<std::string> arguments = {"lr", database_};
    arguments.insert(arguments.end(), large.begin(), large.end());
    const Outcome outcome = run_ddpprof(arguments);
    EXPECT_EQ(outcome.code, 2);
    EXPECT_THAT(outcome.messages,
                HasSubstr("a global batch of 1000000 workers with 10000000000000 samples each is more than can be "
                          "counted: expected at most 2^53"));
    EXPECT_EQ(outcome.out, "");
  }
  const auto tables = tables_of(run_ddpprof({"lr", database_, "--workers", "1000000", "--batch-per-worker", "90071",
                                             "--accumulation", "100000", "--format", "json"}));
  EXPECT_EQ(tables.at("learning_rate_rules")["rows"].at(0)["global_batch_samples"], 9007100000000000);
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
  EXPECT_DOUBLE_EQ(row["linear_lr"], 0.2) << "twice the batch that two workers have";
  EXPECT_EQ(row["steps_per_epoch"], 20);
  EXPECT_EQ(row["total_steps"], 60);
  EXPECT_EQ(row["warmup_steps"], 10);
  EXPECT_NEAR(row["beta1"], 0.8, 1e-12) << "1 - 2 (1 - 0.9)";
}

// The base rate was tuned with the scenario's batch of 32: four micro-batches of it are four times that.
TEST_F(CommandLine, LrKeepsTheBaseBatchWhereAnotherBatchIsAskedAbout) {
  const auto tables =
      tables_of(run_ddpprof({"lr", database_, "--workers", "1", "--accumulation", "4", "--format", "json"}));
  const auto& row = tables.at("learning_rate_rules")["rows"].at(0);
  EXPECT_EQ(row["global_batch_samples"], 128);
  EXPECT_DOUBLE_EQ(row["kappa"], 4.0);
  EXPECT_DOUBLE_EQ(row["linear_lr"], 0.04);
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
  EXPECT_THAT(outcome.out, HasSubstr("Cannot give a time to a target"));
  EXPECT_THAT(outcome.out, HasSubstr("measure.steps"));
}

// 10,000 samples over 8 workers in steps of 32 each: 40 steps an epoch, 90 epochs; base rate 0.01 at one worker.
TEST_F(CommandLine, LrShowsTheSchedulesOfTheRulesAskedFor) {
  const auto plain = tables_of(run_ddpprof({"lr", database_, "--workers", "8", "--format", "json"}));
  EXPECT_EQ(plain.count("learning_rate_schedules"), 0U);
  EXPECT_EQ(plain.count("large_batches"), 0U);
  const auto tables =
      tables_of(run_ddpprof({"lr", "--rule", "sqrt,linear", database_, "--workers", "8", "--decay", "step",
                             "--decay-epochs", "45", "--decay-factor", "0.5", "--format", "json"}));
  const auto& rows = tables.at("learning_rate_schedules")["rows"];
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0]["rule"], "linear");
  EXPECT_DOUBLE_EQ(rows[0]["target_lr"], 0.08);
  EXPECT_DOUBLE_EQ(rows[0]["quarter_lr"], 0.08);
  EXPECT_DOUBLE_EQ(rows[0]["half_lr"], 0.04) << "from epoch 45 of 90 on";
  EXPECT_EQ(rows[0]["total_steps"], 3600);
  EXPECT_EQ(rows[1]["rule"], "square root");
  EXPECT_EQ(tables.count("large_batches"), 0U);
}

TEST_F(CommandLine, TheDryRunSaysWhichRateIsTrained) {
  const std::string sound = file("sound.yaml", test::scenario);
  EXPECT_THAT(run_ddpprof({"run", sound, "--dry-run"}).out, HasSubstr("learning rate from 0.01 at N = 1"));
  const Outcome applied = run_ddpprof({"run", sound, "--dry-run", "--set", "learning_rate.apply=true", "--set",
                                       "learning_rate.base_batch=256", "--set", "learning_rate.decay=cosine"});
  EXPECT_EQ(applied.code, 0) << applied.messages;
  EXPECT_THAT(applied.out, HasSubstr("learning rate of the training: rule linear, decay cosine"));
  EXPECT_THAT(applied.out, HasSubstr("learning rate from 0.01 at a global batch of 256"));
}

// 8 workers of 32: 256 samples a step, four times 64.
TEST_F(CommandLine, LrTakesTheBatchThatTheRateWasTunedFor) {
  const auto tables =
      tables_of(run_ddpprof({"lr", database_, "--workers", "8", "--base-batch", "64", "--format", "json"}));
  EXPECT_DOUBLE_EQ(tables.at("learning_rate")["rows"].at(0)["target_lr"], 0.04);
  EXPECT_DOUBLE_EQ(tables.at("learning_rate_rules")["rows"].at(0)["kappa"], 4.0);
  const Outcome both = run_ddpprof({"lr", database_, "--workers", "8", "--base-batch", "64", "--base-workers", "2"});
  EXPECT_EQ(both.code, 2);
  EXPECT_THAT(both.messages, HasSubstr("--base-batch"));
}

// 313 steps an epoch at the base batch of 32; the measured step of ddp at N = 1 is 100 ms.
TEST_F(CommandLine, LrSaysWhatTheSameResultCosts) {
  const auto tables = tables_of(run_ddpprof({"lr", database_, "--workers", "1,2", "--epochs", "2", "--noise-scale",
                                             "100", "--price", "3.6", "--format", "json"}));
  const auto& row = tables.at("target_cost")["rows"].at(0);
  EXPECT_EQ(row["strategy"], "ddp");
  EXPECT_NEAR(row["steps"], 626.0, 1e-9);
  EXPECT_NEAR(row["time_s"], 62.6, 1e-9);
  EXPECT_NEAR(row["cost"], 0.0626, 1e-12) << "3.6 an hour is a thousandth a second";
  const auto own = tables_of(run_ddpprof(
      {"lr", database_, "--workers", "1", "--noise-scale", "100", "--target-steps", "10", "--format", "json"}));
  EXPECT_NEAR(own.at("target_cost")["rows"].at(0)["time_s"], 1.0, 1e-9);
  for (const char* price : {"-1", "nan"})
    EXPECT_EQ(run_ddpprof({"lr", database_, "--workers", "1", "--price", price}).code, 2) << price;
}

// Constant samples from 8 to 32 leave B_crit far above the batch of 64 that N = 2 has; 10,000 samples are an epoch.
TEST_F(CommandLine, LrContinuesTheSamplesThatTrainingsTookToTheTarget) {
  const std::vector<std::string> question = {"lr", database_, "--workers", "1,2", "--format", "json"};
  const auto with = [&](const char* option, const char* values) {
    std::vector<std::string> arguments = question;
    arguments.insert(arguments.end(), {option, values});
    return tables_of(run_ddpprof(arguments)).at("target_cost");
  };
  const auto by_samples = with("--samples-to-target", "8=20000,16=20000,32=20000");
  const auto& row = by_samples["rows"].at(1);
  EXPECT_EQ(row["workers"], 2);
  EXPECT_GE(row["steps"].get<double>(), 20000.0 / 64.0);
  EXPECT_LT(row["steps"].get<double>(), 1.25 * 20000.0 / 64.0);
  EXPECT_LT(row["steps_low"].get<double>(), row["steps"].get<double>());
  EXPECT_GT(row["steps_high"].get<double>(), row["steps"].get<double>());
  EXPECT_THAT(by_samples["note"].get<std::string>(), HasSubstr("batches 8, 16, 32"));
  EXPECT_EQ(with("--epochs-to-target", "8=2,16=2,32=2")["rows"], by_samples["rows"]);
}

// The scenario has no learning_rate.apply: every step should use 0.01.
TEST_F(CommandLine, LrSetsTrainedRatesBesideThePlanAndSaysWhereNormsAreTooFew) {
  {
    store::Database database = store::Database::open_write(database_);
    database.sql().exec("UPDATE step SET learning_rate = 0.01");
    database.sql().exec("UPDATE step SET learning_rate = 0.02 WHERE step = 2 AND samples = 16");
    database.sql().exec("UPDATE step SET local_gradient_sqr = 20.0, gradient_sqr = 12.0 WHERE kind = 'measured'");
    database.finish_load();
  }
  const auto tables = tables_of(run_ddpprof({"lr", database_, "--workers", "8", "--format", "json"}));
  std::int64_t unlike = 0;
  for (const auto& row : tables.at("trained_rates")["rows"]) unlike += row["unlike_steps"].get<std::int64_t>();
  EXPECT_EQ(unlike, 1) << "one step of one measurement, on both of its ranks";
  EXPECT_THAT(tables.at("trained_rates")["note"].get<std::string>(), HasSubstr("base rate in every step"));
  const auto& noise = tables.at("gradient_noise")["rows"];
  ASSERT_FALSE(noise.empty());
  EXPECT_TRUE(noise[0]["noise_scale_samples"].is_null());
  EXPECT_THAT(noise[0]["note"].get<std::string>(), HasSubstr("too few"));
  EXPECT_EQ(tables.count("large_batches"), 0U) << "without a noise scale the table is left out";
}

// B = 256, B0 = 32; critical batch sqrt(3) 1000: kappa 8 times (1732.05 + 32) / (1732.05 + 256) is 7.0986.
TEST_F(CommandLine, LrSaysWhatANoiseScaleMakesOfALargerBatch) {
  const auto tables =
      tables_of(run_ddpprof({"lr", database_, "--workers", "8", "--noise-scale", "500,1000,2000", "--format", "json"}));
  EXPECT_EQ(tables.at("learning_rate_schedules")["rows"].size(), 6U) << "every rule";
  const auto& row = tables.at("large_batches")["rows"].at(0);
  EXPECT_NEAR(row["gain"], 7.0986, 1e-4);
  EXPECT_LT(row["gain_low"], row["gain"]);
  EXPECT_GT(row["gain_high"], row["gain"]);
  EXPECT_EQ(row["linear_rule"], "green");
}

TEST_F(CommandLine, LrSaysWhatIsWrongWithAnOption) {
  const std::pair<std::vector<std::string>, const char*> all[] = {
      {{"--optimizer", "adaptiv"}, "did you mean 'adaptive'?"},
      {{"--warmup-epochs", "-1"}, "--warmup-epochs: the value is below 0"},
      {{"--warmup-epochs", "inf"}, "--warmup-epochs: the value is not finite"},
      {{"--price", "nan"}, "--price: the value is not finite"},
      {{"--target-loss", "inf"}, "--target-loss: the value is not finite"},
      {{"--epochs", "0"}, "--epochs"},
      {{"--batch-per-worker", "0"}, "--batch-per-worker"},
      {{"--accumulation", "100001"}, "--accumulation"},
      {{"--base-workers", "0"}, "--base-workers"},
      {{"--rule", "linear,adascal"}, "did you mean 'adascale'?"},
      {{"--decay", "cosin"}, "did you mean 'cosine'?"},
      {{"--decay-power", "2"}, "--decay-power belongs to --decay polynomial"},
      {{"--decay", "step", "--decay-epochs", "60,30"}, "no less than the one before it"},
      {{"--samples-to-target", "32"}, "expected BATCH=NUMBER"},
      {{"--samples-to-target", "32=1e4,64=x"}, "'64=x'"},
      {{"--epochs-to-target", "0=90"}, "two numbers above 0"},
      {{"--epochs-to-target", "32=90", "--target-steps", "10"}, "--target-steps"},
      {{"--noise-scale", "3,2,1"}, "three ascending"},
      {{"--noise-scale", "1,inf,inf"}, "three ascending"},
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

// The scenario's own question: workers 1, 2 and 4 measured, 8 predicted (command_line.hpp).
TEST_F(CommandLine, TheReportHasTheTablesOfLr) {
  const auto report = tables_of(run_ddpprof({"report", database_, "--report", "learning-rate", "--format", "json"}));
  std::string workers;
  for (const auto& row : report.at("learning_rate_rules")["rows"])
    workers += (workers.empty() ? "" : ",") + std::to_string(row["workers"].get<int>());
  const auto lr = tables_of(run_ddpprof({"lr", database_, "--workers", workers, "--format", "json"}));
  for (const char* name : {"learning_rate", "warmup", "learning_rate_rules", "training_time", "time_to_target"}) {
    EXPECT_EQ(report.at(name), lr.at(name)) << name;
    EXPECT_TRUE(report.at(name).contains("rows")) << name;
  }
  EXPECT_FALSE(report.at("training_time")["rows"].empty());
  const auto all = tables_of(run_ddpprof({"report", database_, "--report", "all", "--format", "json"}));
  EXPECT_EQ(all.at("training_time")["rows"], lr.at("training_time")["rows"]);
}

// The same file with another scenario. The stored rates belong to the earlier scenario.
class OtherScenarios : public CommandLine {
 protected:
  std::string with(const std::string& name, const std::string& workload, const std::string& rate,
                   const char* change = "SELECT 1") {
    const std::filesystem::path path = folder_ / (name + ".db");
    std::filesystem::copy_file(database_, path, std::filesystem::copy_options::overwrite_existing);
    store::Database database = store::Database::open_write(path);
    SQLite::Statement update(database.sql(), "UPDATE scenario SET source = ?1, resolved = ?1");
    update.bind(1,
                "name: other\nworkload: {model: {kind: mlp, widths: [784, 10]}, data: {samples: 10000}, "
                "batch_per_worker: 32" +
                    workload +
                    "}\nworkers: [1, 2, 4]\npredict: {workers: [32]}\n"
                    "learning_rate: {base: 0.05, epochs: 4, warmup_epochs: 1, " +
                    rate + "}\n");
    update.exec();
    database.sql().exec(change);
    return path.string();
  }
  // lr and report answer the scenario's question. These tables are equal in both.
  static std::map<std::string, nlohmann::json> of_both(const std::string& file) {
    const auto lr = tables_of(run_ddpprof({"lr", file, "--workers", "1,2,4,32", "--format", "json"}));
    const auto report = tables_of(run_ddpprof({"report", file, "--report", "learning-rate", "--format", "json"}));
    for (const char* name : {"learning_rate", "warmup", "learning_rate_rules", "training_time"})
      EXPECT_EQ(report.at(name), lr.at(name)) << name;
    return report;
  }
};

TEST_F(OtherScenarios, ARefusedSquareRootIsNobodysRate) {
  const std::string file = with("adam", ", optimizer: {kind: adam}", "rule: sqrt");
  const auto tables = of_both(file);
  const auto& rows = tables.at("learning_rate")["rows"];
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_EQ(rows[2]["target_lr"], 0.1);
  EXPECT_TRUE(rows[3]["target_lr"].is_null());
  EXPECT_THAT(rows[3]["note"].get<std::string>(), HasSubstr("κ (1 − β₁) must be below 1"));
  for (const auto& row : tables.at("warmup")["rows"]) EXPECT_LE(row["workers"], 4);
  EXPECT_THAT(run_ddpprof({"report", file}).out,
              AllOf(HasSubstr("none (square root rule for adam): "), HasSubstr("rate: N = 4, 0.1.")));
}

TEST_F(OtherScenarios, AdaScaleWithoutANoiseScaleSaysWhatItLacks) {
  const std::string file = with("adascale", "", "rule: adascale");
  const auto tables = of_both(file);
  for (const char* name : {"learning_rate", "warmup"}) EXPECT_TRUE(tables.at(name)["rows"].empty()) << name;
  for (const Outcome& outcome : {run_ddpprof({"lr", file, "--workers", "1,2,4,32"}),
                                 run_ddpprof({"report", file, "--report", "learning-rate"})}) {
    EXPECT_THAT(outcome.out, HasSubstr("noise scale, which is not known"));
    EXPECT_THAT(outcome.out, testing::Not(HasSubstr("Give the scenario a learning_rate section")));
  }
}

// 10000 samples of 4 workers: 2500 each, 78.125 steps of 32.
TEST_F(OtherScenarios, AFileOfBeforeTrainedByWholeEpochs) {
  const auto tables = of_both(with("before", "", "rule: linear, apply: true"));
  EXPECT_EQ(tables.at("learning_rate_rules")["rows"][2]["total_steps"], 4 * 79);
  EXPECT_THAT(tables.at("training_time")["note"].get<std::string>(),
              HasSubstr("last batch of an epoch counts as a full batch"));
  const auto now = of_both(with("now", "", "rule: linear, apply: true",
                                "UPDATE measurement SET options = json_set(options, '$.batches_span_epochs', "
                                "json('true'))"));
  EXPECT_EQ(now.at("learning_rate_rules")["rows"][2]["total_steps"], 313) << "4 times 78.125";
  EXPECT_EQ(now.at("learning_rate_rules")["rows"][2]["steps_per_epoch"], 78.125);
}

TEST_F(CommandLine, LrByAdaScaleNeedsANoiseScale) {
  const auto without =
      tables_of(run_ddpprof({"lr", database_, "--workers", "8", "--rule", "adascale", "--format", "json"}));
  const auto& row = without.at("learning_rate_schedules")["rows"].at(0);
  EXPECT_TRUE(row["target_lr"].is_null());
  EXPECT_THAT(row["note"].get<std::string>(), HasSubstr("noise scale"));
  const auto with = tables_of(run_ddpprof(
      {"lr", database_, "--workers", "8", "--rule", "adascale", "--noise-scale", "320", "--format", "json"}));
  // kappa 8 at a base batch of 32: 8 (320 + 32) / (320 + 256) of the base rate 0.01.
  EXPECT_NEAR(with.at("learning_rate_schedules")["rows"].at(0)["target_lr"].get<double>(), 0.01 * 8.0 * 352.0 / 576.0,
              1e-15);
}

}  // namespace
}  // namespace ddpprof
