// Two databases with chosen times, so that ratios and verdicts are known.
#include "analysis/report/tables/compare/compare.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/analysis/report/two_files.hpp"

namespace ddpprof {
namespace {

using nlohmann::json;
using test::Times;

using CompareTest = test::TwoFiles;

TEST_F(CompareTest, AStepHalfAsLongAgainIsDifferentAndItsPartsSayWhy) {
  add(*a_, test::train("ddp", 2), {.repeats = 3});
  add(*b_, test::train("ddp", 2), {.step_ms = 150, .communication_ms = 80, .repeats = 3});
  const json report = compared();
  const json step = row(report, "compare_time", {{"what", "step"}});
  EXPECT_EQ(step["verdict"], "different");
  EXPECT_DOUBLE_EQ(step["a_s"], 0.1);
  EXPECT_DOUBLE_EQ(step["b_s"], 0.15);
  EXPECT_DOUBLE_EQ(step["difference_of_step"], 0.5);
  EXPECT_DOUBLE_EQ(step["ratio"], 1.5);
  EXPECT_DOUBLE_EQ(step["ratio_low"], 1.5);  // steps without any spread: the interval is a point
  EXPECT_DOUBLE_EQ(step["ratio_high"], 1.5);
  EXPECT_DOUBLE_EQ(row(report, "compare_time", {{"what", "exposed"}})["ratio"], 6.0);  // 10 ms against 60 ms
  const json compute = row(report, "compare_time", {{"what", "compute"}});
  EXPECT_EQ(compute["verdict"], "no difference shown");
  EXPECT_DOUBLE_EQ(compute["ratio"], 1.0);
  const json throughput = row(report, "compare_throughput", {{"workers", 2}});
  EXPECT_DOUBLE_EQ(throughput["a_samples_per_s"], 640.0);  // 64 samples in 100 ms
  EXPECT_DOUBLE_EQ(throughput["ratio"], 1.0 / 1.5);
  const json words = row(report, "compare_answer", {{"verdict", "different"}});
  EXPECT_EQ(words["about"], "ddp N=2");
  EXPECT_EQ(
      words["what"],
      "a step takes 150 ms in B and 100 ms in A: 1.50 times as long (1.50 to 1.50); communication +50 ms, exposed "
      "+50 ms.");
}

// A was timed without the profiler, too, and its steps take 80 ms then. B's steps contain the cost of the profiler, so
// they are compared with A's traced ones.
TEST_F(CompareTest, StepsWithoutTheProfilerAreComparedIfBothFilesHaveThem) {
  const auto add_steps = [](test::SyntheticRun& run, std::int64_t untraced_ms) {
    store::BulkLoad load(run.database);
    const std::int64_t shard = run.shard(run.measurement(test::train("ddp", 1)), 0);
    for (int i = 0; i < 16; ++i)
      if (i >= 8)
        run.step(shard, i, i * 1000 * test::ms, 100 * test::ms, 90 * test::ms, 0, 0, 0);
      else if (untraced_ms > 0)
        run.step(shard, i, i * 1000 * test::ms, untraced_ms * test::ms, 0, 0, 0, 0, 32, "untraced");
    load.commit();
  };
  add_steps(*a_, 80);
  add_steps(*b_, 0);
  json report = compared();
  json step = row(report, "compare_time", {{"what", "step"}});
  EXPECT_DOUBLE_EQ(step["a_s"], 0.1);
  EXPECT_DOUBLE_EQ(step["ratio"], 1.0);
  EXPECT_DOUBLE_EQ(row(report, "compare_time", {{"what", "compute"}})["ratio"], 1.0);
  EXPECT_TRUE(rows(report, "compare_waterfall").empty());
  const std::string note = row(report, "compare_answer", {{"verdict", "note"}})["what"];
  EXPECT_NE(note.find("only A has steps that were timed without the profiler"), std::string::npos) << note;
  b_ = nullptr;
  std::filesystem::remove(b_path_);
  b_ = std::make_unique<test::SyntheticRun>(b_path_);
  add_steps(*b_, 60);
  report = compared();
  step = row(report, "compare_time", {{"what", "step"}});
  EXPECT_DOUBLE_EQ(step["a_s"], 0.08);
  EXPECT_DOUBLE_EQ(step["b_s"], 0.06);
}

// Twice the workers and twice the step: another step, and the same throughput.
TEST_F(CompareTest, TheVerdictOfAThroughputIsThatOfItsOwnRatio) {
  add(*a_, test::train("ddp", 2), {.repeats = 3});
  add(*b_, test::train("ddp", 4), {.step_ms = 200, .repeats = 3});
  const json report = compared();
  EXPECT_EQ(row(report, "compare_time", {{"what", "step"}})["verdict"], "different");
  const json throughput = rows(report, "compare_throughput")[0];
  EXPECT_DOUBLE_EQ(throughput["ratio"], 1.0);
  EXPECT_EQ(throughput["verdict"], "no difference shown");
}

TEST_F(CompareTest, TheTermsAddUpToTheDifferenceOfTheSteps) {
  // A: 80 ms compute, 9 ms exposed, 1 ms waiting, 10 ms other. B: 80, 54, 6, 10.
  add(*a_, test::train("ddp", 2), {.repeats = 3, .spread_us = 3000});
  add(*b_, test::train("ddp", 2),
      {.step_ms = 150, .communication_ms = 80, .skew_ms = {6}, .repeats = 3, .spread_us = 3000});
  const json report = compared();
  const auto term = [&](const char* what) { return row(report, "compare_waterfall", {{"what", what}}); };
  const json step = row(report, "compare_time", {{"what", "step"}});
  EXPECT_NEAR(term("step")["a_s"].get<double>(), step["a_s"].get<double>(), 1e-12);
  EXPECT_NEAR(term("step")["b_s"].get<double>(), step["b_s"].get<double>(), 1e-12);
  EXPECT_NEAR(term("step")["difference_s"].get<double>(), step["difference_s"].get<double>(), 1e-12);
  for (const char* side : {"a_s", "b_s", "difference_s"}) {
    double sum = 0.0;
    for (const json& one : rows(report, "compare_waterfall"))
      if (one["what"] != "step") sum += one[side].get<double>();
    EXPECT_NEAR(sum, term("step")[side].get<double>(), 1e-12) << side;
  }
  // Shares of steps of 100, 103 and 106 ms, times 103 ms.
  EXPECT_NEAR(term("exposed communication")["a_s"], 0.103 * 9.0 * (1 / 100. + 1 / 103. + 1 / 106.) / 3.0, 1e-9);
  EXPECT_NEAR(term("waiting")["b_s"], 0.153 * 6.0 * (1 / 150. + 1 / 153. + 1 / 156.) / 3.0, 1e-9);
  for (const char* what : {"step", "exposed communication", "compute"}) {
    EXPECT_LE(term(what)["difference_low_s"], term(what)["difference_s"]) << what;
    EXPECT_GE(term(what)["difference_high_s"], term(what)["difference_s"]) << what;
  }
  EXPECT_GT(term("step")["difference_low_s"], 0.03);
  EXPECT_LT(term("step")["difference_low_s"], term("step")["difference_high_s"]) << "the repeats differ";
}

// Ranks of 100 and 200 ms with 80 ms of compute each: the mean share is 0.6, of a step of 150 ms.
TEST_F(CompareTest, TheTermsAreThoseOfThePredictions) {
  for (const auto& run : {a_.get(), b_.get()}) {
    store::BulkLoad load(run->database);
    const std::int64_t measurement = run->measurement(test::train("ddp", 2));
    for (std::int64_t rank = 0; rank < 2; ++rank) {
      const std::int64_t shard = run->shard(measurement, rank);
      for (int i = 0; i < 8; ++i)
        run->step(shard, i, i * 1000 * test::ms, (100 + 100 * rank) * test::ms, 80 * test::ms, 0, 0, 0);
    }
    load.commit();
  }
  const json report = compared();
  EXPECT_NEAR(row(report, "compare_waterfall", {{"what", "step"}})["a_s"].get<double>(), 0.150, 1e-12);
  EXPECT_NEAR(row(report, "compare_waterfall", {{"what", "compute"}})["a_s"].get<double>(), 0.090, 1e-12);
}

TEST_F(CompareTest, AWaterfallOfTwoStepsHasNoInterval) {
  add(*a_, test::train("ddp", 2), {.steps = 2});
  add(*b_, test::train("ddp", 2), {.step_ms = 200});
  const json step = row(compared(), "compare_waterfall", {{"what", "step"}});
  EXPECT_DOUBLE_EQ(step["difference_s"], 0.1);
  EXPECT_TRUE(step["difference_low_s"].is_null()) << step;
}

TEST_F(CompareTest, DifferencesThatAreSureComeFirstTheLargestPartOfAStepOnTop) {
  add(*a_, test::train("ddp", 1), {.repeats = 2});
  add(*b_, test::train("ddp", 1), {.step_ms = 110, .repeats = 2});
  add(*a_, test::train("ddp", 2), {.repeats = 2});
  add(*b_, test::train("ddp", 2), {.step_ms = 50, .compute_ms = 40, .repeats = 2});
  const json all = rows(compared(), "compare_time");
  ASSERT_GE(all.size(), 4u);
  EXPECT_EQ((std::vector<json>{all[0]["workers"], all[0]["what"]}), (std::vector<json>{2, "step"}));     // − 50 %
  EXPECT_EQ((std::vector<json>{all[1]["workers"], all[1]["what"]}), (std::vector<json>{2, "compute"}));  // − 40 %
  EXPECT_EQ((std::vector<json>{all[2]["workers"], all[2]["what"]}), (std::vector<json>{1, "step"}));     // + 10 %
  EXPECT_EQ(all[3]["verdict"], "no difference shown");
}

TEST_F(CompareTest, OneRepeatDoesNotTellAFewPercentFromAnotherRunOfTheSame) {
  add(*a_, test::train("ddp", 2), {});
  add(*b_, test::train("ddp", 2), {.step_ms = 105});
  const json step = row(compared(), "compare_time", {{"what", "step"}});
  EXPECT_EQ(step["verdict"], "cannot tell");
  EXPECT_THAT(step["why"], testing::HasSubstr("one repeat in both files"));
  add(*a_, test::train("ddp", 4), {});
  add(*b_, test::train("ddp", 4), {.step_ms = 150});
  EXPECT_EQ(row(compared(), "compare_time", {{"what", "step"}, {"workers", 4}})["verdict"], "different");
}

TEST_F(CompareTest, RepeatsThatDifferMakeTheIntervalWide) {
  add(*a_, test::train("ddp", 2), {.repeats = 3, .spread_us = 15000});  // 100, 115, 130 ms
  add(*b_, test::train("ddp", 2), {.step_ms = 110, .repeats = 3, .spread_us = 15000});
  const json step = row(compared(), "compare_time", {{"what", "step"}});
  EXPECT_EQ(step["verdict"], "cannot tell");
  EXPECT_DOUBLE_EQ(step["ratio"], 0.125 / 0.115);
  EXPECT_LT(step["ratio_low"], 1.0);
  EXPECT_GT(step["ratio_high"], 1.2);
}

TEST_F(CompareTest, TooFewStepsSaySo) {
  add(*a_, test::train("ddp", 2), {.steps = 2});
  add(*b_, test::train("ddp", 2), {.step_ms = 200, .steps = 8});
  const json step = row(compared(), "compare_time", {{"what", "step"}});
  EXPECT_EQ(step["verdict"], "cannot tell");
  EXPECT_THAT(step["why"], testing::StartsWith("too few steps: the interval covers only 50 %"));  // 1 - 2^-1
}

// Traces often have 3 to 5 steps. Steps that are 0.64 times as long and vary by 2 % differ, beyond what two runs of
// the same job may differ. Steps that vary by as much as they differ do not.
TEST_F(CompareTest, ThreeStepsAreJudgedByStudentsInterval) {
  const auto steps = [&](std::int64_t workers, const std::vector<std::int64_t>& in_a,
                         const std::vector<std::int64_t>& in_b) {
    for (const auto& [run, all] : {std::pair{&*a_, &in_a}, {&*b_, &in_b}}) {
      const std::int64_t measurement = run->measurement(test::train("ddp", workers));
      for (std::int64_t rank = 0; rank < workers; ++rank) {
        const std::int64_t shard = run->shard(measurement, rank);
        for (std::size_t i = 0; i < all->size(); ++i)
          run->step(shard, static_cast<std::int64_t>(i), static_cast<std::int64_t>(i) * 1000 * test::ms,
                    (*all)[i] * test::ms, 10 * test::ms, 0, 0, 0);
      }
    }
  };
  steps(2, {345, 350, 340, 348, 342}, {222, 220, 225});
  steps(4, {345, 200, 290}, {222, 320, 260});
  const json report = compared();
  const json sure = row(report, "compare_time", {{"what", "step"}, {"workers", 2}});
  EXPECT_EQ(sure["verdict"], "different") << sure;
  EXPECT_NEAR(sure["ratio"].get<double>(), 222.3 / 345.0, 0.002);
  EXPECT_GT(sure["ratio_low"], 0.61);
  EXPECT_LT(sure["ratio_high"], 0.67);
  EXPECT_EQ(row(report, "compare_time", {{"what", "step"}, {"workers", 4}})["verdict"], "cannot tell");
}

TEST_F(CompareTest, WhereNoDifferenceShowsTheLargestPartOfAStepComesFirstToo) {
  // Only the skew differs: 20.5 ms and 21 ms of a step of 100 ms, between 20 and 22 ms in both files.
  add(*a_, test::train("ddp", 2), {.skew_ms = {20, 21, 22, 20}});
  add(*b_, test::train("ddp", 2), {.skew_ms = {20, 21, 22, 21}});
  const json all = rows(compared(), "compare_time");
  ASSERT_GE(all.size(), 4u);
  for (const json& one : all) EXPECT_EQ(one["verdict"], "no difference shown") << one;
  EXPECT_EQ(all[0]["what"], "skew") << "a step is sorted before its parts only if the verdicts are equal";
  EXPECT_NEAR(all[0]["difference_of_step"].get<double>(), 0.005, 1e-12);
}

TEST_F(CompareTest, ATimeThatSomeStepsLackIsJudgedByTheirDifference) {
  add(*a_, test::train("ddp", 2), {.skew_ms = {0, 1}, .repeats = 3});
  add(*b_, test::train("ddp", 2), {.skew_ms = {20, 21}, .repeats = 3});
  const json skew = row(compared(), "compare_time", {{"what", "skew"}});
  EXPECT_TRUE(skew["ratio"].is_null());
  EXPECT_EQ(skew["verdict"], "different");
  EXPECT_THAT(skew["why"],
              testing::StartsWith("its time is 0 in some steps, so there is no ratio: B − A is between +"));
}

TEST_F(CompareTest, RepeatsThatDifferByThemselvesAreNoDifferenceOfATimeThatSomeStepsLack) {
  // Every fifth step has a skew of 0. A's repeats have 20, 24 and 28 ms, B's 23, 27 and 31 ms: with 40 steps each there
  // are still only three repeats.
  add(*a_, test::train("ddp", 2),
      {.step_ms = 200, .skew_ms = {0, 20, 20, 20, 20}, .steps = 40, .repeats = 3, .skew_spread_ms = 4});
  add(*b_, test::train("ddp", 2),
      {.step_ms = 200, .skew_ms = {0, 23, 23, 23, 23}, .steps = 40, .repeats = 3, .skew_spread_ms = 4});
  const json skew = row(compared(), "compare_time", {{"what", "skew"}});
  EXPECT_EQ(skew["verdict"], "cannot tell") << skew;
  EXPECT_THAT(skew["why"], testing::HasSubstr("measure more repeats or steps"));
}

TEST_F(CompareTest, OneRepeatShowsNoDifferenceOfATimeThatSomeStepsLack) {
  add(*a_, test::train("ddp", 2), {.skew_ms = {0, 1}});
  add(*b_, test::train("ddp", 2), {.skew_ms = {20, 21}, .repeats = 3});
  const json skew = row(compared(), "compare_time", {{"what", "skew"}});
  EXPECT_EQ(skew["verdict"], "cannot tell");
  EXPECT_THAT(skew["why"], testing::HasSubstr("one repeat in A"));
}

store::MeasurementRow on_cores(std::int64_t cores) {
  store::MeasurementRow row = test::train("ddp", 2);
  row.cores = cores;
  return row;
}

TEST_F(CompareTest, TheMostAlikeAreComparedWhicheverComesFirst) {
  add(*a_, on_cores(2), {.step_ms = 100});
  add(*a_, on_cores(4), {.step_ms = 200});
  add(*b_, on_cores(4), {.step_ms = 200});
  const json report = compared();
  EXPECT_DOUBLE_EQ(row(report, "compare_time", {{"what", "step"}})["ratio"], 1.0);
  EXPECT_DOUBLE_EQ(row(report, "only_in_one", {{"file", "A"}})["step_median_s"], 0.1);
  EXPECT_TRUE(rows(report, "compare_settings").empty()) << rows(report, "compare_settings");
}

TEST_F(CompareTest, PairsThatDifferInTheirCoresAreToldApart) {
  for (const auto& run : {a_.get(), b_.get()}) {
    add(*run, on_cores(2), {.step_ms = run == a_.get() ? 100 : 150, .repeats = 2});
    add(*run, on_cores(4), {.step_ms = run == a_.get() ? 100 : 170, .repeats = 2});
  }
  const json answer = rows(compared(), "compare_answer");
  ASSERT_EQ(answer.size(), 2u) << answer;
  EXPECT_EQ(answer[0]["about"], "ddp N=2, cores 4");
  EXPECT_EQ(answer[1]["about"], "ddp N=2, cores 2");
}

TEST_F(CompareTest, SweepsOfCollectivesAloneAreNotComparedAndSaySo) {
  a_->bench_comm();
  b_->bench_comm();
  const json both = compared();
  EXPECT_THAT(
      row(both, "compare_answer", {{"verdict", "cannot tell"}})["what"],
      testing::StartsWith("Cannot compare: both files contain only sweeps of collectives (ddpprof bench-comm)"));
  EXPECT_EQ(row(both, "compare_files", {{"file", "A"}})["measurements"], 1);
  add(*b_, test::train("ddp", 2), {});
  const json one = compared();
  EXPECT_THAT(row(one, "compare_answer", {{"verdict", "cannot tell"}})["what"],
              testing::StartsWith("Cannot compare: A contains only sweeps"));
  EXPECT_EQ(row(one, "compare_files", {{"file", "B"}})["measurements"], 2);
}

TEST_F(CompareTest, AnErrorNamesTheFileItIsIn) {
  add(*a_, test::train("ddp", 2), {});
  add(*b_, test::train("ddp", 2), {});
  for (const char* table : {"fit", "host_condition", "diagnostic", "measurement"}) {
    b_->database.sql().exec(std::string("ALTER TABLE ") + table + " RENAME TO gone");
    try {
      compared();
      ADD_FAILURE() << "no error without " << table;
    } catch (const store::DatabaseError& error) {
      EXPECT_EQ(error.path(), b_path_) << table << ": " << error.what();
    }
    b_->database.sql().exec(std::string("ALTER TABLE gone RENAME TO ") + table);
  }
}

TEST_F(CompareTest, WhatIsNotInBothIsListedAndNotCompared) {
  add(*a_, test::train("ddp", 2), {});
  add(*a_, test::train("dp", 2), {.step_ms = 250});
  add(*b_, test::train("ddp", 2), {});
  add(*b_, test::train("ddp", 2, 16), {});
  const json report = compared();
  const json in_a = row(report, "only_in_one", {{"file", "A"}});
  EXPECT_EQ(in_a["strategy"], "dp");
  EXPECT_DOUBLE_EQ(in_a["step_median_s"], 0.25);
  EXPECT_EQ(row(report, "only_in_one", {{"file", "B"}})["global_batch_samples"], 32);
  EXPECT_EQ(rows(report, "only_in_one").size(), 2u);
  for (const json& time : rows(report, "compare_time")) EXPECT_EQ(time["strategy"], "ddp");
}

TEST_F(CompareTest, NothingInCommonIsSaidWithWhatToDo) {
  add(*a_, test::train("ddp", 2), {});
  std::ostringstream out;
  render(report::compare(a_->database, b_->database, {}), report::Format::table, out, 400);
  EXPECT_THAT(out.str(), testing::HasSubstr("was measured in both files"));
  EXPECT_THAT(out.str(), testing::HasSubstr("Measure one of them again with the scenario of the other"));
}

TEST_F(CompareTest, SettingsThatDifferAreNamedOnceForAllTheyHoldOf) {
  store::MeasurementRow newer = test::train("ddp", 2);
  newer.versions = R"({"ddpprof":"0.1.0","torch":"2.12.0"})";
  newer.options = R"({"bucket_cap_mb":50})";
  add(*a_, test::train("ddp", 2), {});
  add(*b_, newer, {});
  newer.world_size = 4;
  add(*a_, test::train("ddp", 4), {});
  add(*b_, newer, {});
  const json report = compared({{"ddp.bucket_cap_mb", "25", "50"}});
  const json torch = row(report, "compare_settings", {{"name", "torch"}});
  EXPECT_EQ(torch["area"], "version");
  EXPECT_EQ(torch["a"], "2.11.0");
  EXPECT_EQ(torch["b"], "2.12.0");
  EXPECT_EQ(torch["about"], "every configuration");
  const json cap = row(report, "compare_settings", {{"name", "bucket_cap_mb"}});
  EXPECT_TRUE(cap["a"].is_null()) << "not recorded in A";
  EXPECT_EQ(cap["b"], "50");
  EXPECT_EQ(row(report, "compare_settings", {{"name", "ddp.bucket_cap_mb"}})["a"], "25");
  EXPECT_EQ(rows(report, "compare_settings").size(), 3u) << rows(report, "compare_settings");
}

TEST_F(CompareTest, ParametersOfTheFitsAreJudgedByTheirErrors) {
  a_->conclude();
  store::FitRow fit;
  fit.name = "all_reduce";
  fit.strategy = "ddp";
  fit.form = "ring";
  fit.usable = 1;
  fit.parameters = R"({"alpha":{"value":5.6e-5,"unit":"s","standard_error":9e-7,"at_bound":false},)"
                   R"("gamma":{"value":1,"unit":"","standard_error":0,"at_bound":false,"fixed":true},)"
                   R"("delta":{"value":0.9,"unit":"","standard_error":0.3,"at_bound":false,"identified":false}})";
  store::Inserter<store::FitRow>(b_->database).insert(fit);
  const json report = compared();
  // |5.6 − 5.2| / hypot(0.12, 0.09) = 0.4 / 0.15 = 2.67 of its standard errors: p = 0.0077.
  const json alpha = row(report, "compare_parameters", {{"parameter", "alpha"}});
  EXPECT_EQ(alpha["verdict"], "different");
  EXPECT_EQ(alpha["why"], "p = 0.0077");
  EXPECT_DOUBLE_EQ(alpha["ratio"], 5.6e-5 / 5.2e-5);
  EXPECT_EQ(row(report, "compare_parameters", {{"parameter", "gamma"}})["verdict"], "no difference shown");
  EXPECT_EQ(row(report, "compare_parameters", {{"parameter", "delta"}})["why"], "assumed, not measured");
  EXPECT_EQ(row(report, "compare_parameters", {{"parameter", "beta"}})["why"], "only in A");
  EXPECT_EQ(rows(report, "compare_parameters")[0]["parameter"], "alpha") << "the different one first";
}

TEST_F(CompareTest, ParametersOfModelsOfOtherFormsAreNotCompared) {
  a_->conclude();
  b_->conclude();
  b_->database.sql().exec("UPDATE fit SET form = 'gloo-segmented-ring'");
  const json all = rows(compared(), "compare_parameters");
  ASSERT_FALSE(all.empty());
  for (const json& parameter : all) {
    EXPECT_EQ(parameter["verdict"], "cannot tell") << parameter;
    EXPECT_EQ(parameter["why"], "other form: ring / gloo-segmented-ring") << parameter;
    EXPECT_TRUE(parameter["ratio"].is_null()) << parameter;
  }
}

TEST_F(CompareTest, WarningsOfOneFileAloneComeBeforeThoseOfBoth) {
  add(*a_, test::train("ddp", 2), {.steps = 30});
  add(*b_, test::train("ddp", 2), {.steps = 30});
  store::DiagnosticRow lost;
  lost.measurement_id = 1;
  lost.severity = "error";
  lost.code = "shard_full";
  lost.message = "events were dropped";
  store::Inserter<store::DiagnosticRow>(a_->database).insert(lost);
  store::Inserter<store::DiagnosticRow>(b_->database).insert(lost);
  lost.severity = "warning";
  lost.code = "slow_disk";
  lost.message = "the disk was slow";
  store::Inserter<store::DiagnosticRow>(b_->database).insert(lost);
  const json all = rows(compared(), "compare_notices");
  ASSERT_EQ(all.size(), 2u) << all;
  EXPECT_EQ(all[0]["file"], "B");
  EXPECT_EQ(all[0]["code"], "slow_disk");
  EXPECT_EQ(all[1]["file"], "both");
}

TEST_F(CompareTest, AFileDoesNotDifferFromItself) {
  add(*a_, test::train("ddp", 2), {.repeats = 3, .spread_us = 500});
  std::ostringstream out;
  render(report::compare(a_->database, a_->database, {}), report::Format::json, out);
  const json report = json::parse(out.str());
  for (const json& time : rows(report, "compare_time")) {
    EXPECT_EQ(time["verdict"], "no difference shown") << time;
    EXPECT_DOUBLE_EQ(time["ratio"], 1.0);
  }
  EXPECT_TRUE(rows(report, "compare_settings").empty());
  EXPECT_TRUE(rows(report, "only_in_one").empty());
}

}  // namespace
}  // namespace ddpprof
