// Work that runs only in some steps, mostly every fourth: it is shown with its mean, sorted by it, and judged.
#include <gmock/gmock.h>

#include <SQLiteCpp/Statement.h>

#include "tests/analysis/report/kernels_of_steps.hpp"
#include "tests/analysis/report/two_files.hpp"

namespace ddpprof {
namespace {

using nlohmann::json;
using test::Kernel;
using test::TracedSteps;
using test::us;

bool every_fourth(int step) { return step % 4 == 0; }

class CompareRare : public test::TwoFiles {
 protected:
  // Steps of 10 ms: a gemm in each, the optimizer in some.
  static TracedSteps with_optimizer(std::int64_t time_us, std::function<bool(int)> in_step = every_fourth,
                                    int steps = 16) {
    return {.kernels = {{"gemm", 4'000}, {.name = "sgd", .time_us = time_us, .in_step = std::move(in_step)}},
            .steps = steps,
            .step_us = 10'000};
  }
  json kernels(const TracedSteps& a, const TracedSteps& b) {
    test::import_of(*a_, a);
    test::import_of(*b_, b);
    report_ = compared();
    return rows(report_, "compare_kernels");
  }
  // An all-reduce of 1 MB in every fourth step of an import.
  static void add_reduces(test::SyntheticRun& run, std::int64_t time_us) {
    SQLite::Statement steps(run.database.sql(), "SELECT id, shard_id, step, start_ns FROM step WHERE step % 4 = 0");
    while (steps.executeStep()) {
      const std::int64_t start_ns = steps.getColumn(3).getInt64() + 5'000 * us;
      run.collective(steps.getColumn(1).getInt64(), steps.getColumn(0).getInt64(), steps.getColumn(2).getInt64(), 0,
                     1'000'000, start_ns, start_ns, start_ns + time_us * us, time_us * us);
    }
  }
  json report_;
};

// 500 us in 4 of 16 steps are 125 us a step, 2000 us are 500: 3.75 % of a step of 10 ms.
TEST_F(CompareRare, AnOptimizerOfEveryFourthStepIsOnTopWithItsMean) {
  const json all = kernels(with_optimizer(500), with_optimizer(2'000));
  ASSERT_EQ(all.size(), 2U) << all;
  EXPECT_EQ(all[0]["name"], "sgd");
  EXPECT_DOUBLE_EQ(all[0]["a_s"], 125e-6);
  EXPECT_DOUBLE_EQ(all[0]["b_s"], 500e-6);
  EXPECT_NEAR(all[0]["difference_of_step"].get<double>(), 0.0375, 1e-12);
  EXPECT_EQ(all[0]["verdict"], "different");
  EXPECT_EQ(all[0]["change"], "slower calls");
  EXPECT_DOUBLE_EQ(all[0]["ratio"], 4.0);
  EXPECT_THAT(all[0]["why"], testing::HasSubstr("every 4 steps together"));
  EXPECT_THAT(row(report_, "compare_answer", {{"verdict", "different"}})["what"], testing::HasSubstr("sgd"));
}

TEST_F(CompareRare, AnAllReduceOfEveryFourthStepIsSortedByItsMean) {
  test::import_of(*a_, with_optimizer(500));
  test::import_of(*b_, with_optimizer(500));
  add_reduces(*a_, 300);
  add_reduces(*b_, 2'000);
  const json all = rows(compared(), "compare_collectives");
  ASSERT_EQ(all.size(), 1U) << all;
  EXPECT_DOUBLE_EQ(all[0]["a_s"], 75e-6);
  EXPECT_DOUBLE_EQ(all[0]["b_s"], 500e-6);
  EXPECT_NEAR(all[0]["difference_of_step"].get<double>(), 0.0425, 1e-12);
  EXPECT_EQ(all[0]["verdict"], "different");
}

// Not periodic: the steps are bootstrapped.
TEST_F(CompareRare, EvaluationsNowAndThenAreJudgedByTheDifferenceOfMeans) {
  const auto now_and_then = [](int step) { return step % 10 == 0 || step % 10 == 3 || step % 10 == 4; };
  const json all = kernels(with_optimizer(500, now_and_then, 100), with_optimizer(2'000, now_and_then, 100));
  ASSERT_EQ(all.size(), 2U) << all;
  EXPECT_EQ(all[0]["name"], "sgd");
  EXPECT_DOUBLE_EQ(all[0]["a_s"], 150e-6);
  EXPECT_DOUBLE_EQ(all[0]["b_s"], 600e-6);
  EXPECT_EQ(all[0]["verdict"], "different");
  EXPECT_TRUE(all[0]["ratio"].is_null());
  // With 100 steps the mean of B has a standard error of 2000 us * sqrt(0.3 * 0.7 / 100) = 92 us, and the mean of A a
  // fourth of it: ± 1.96 * 94 us around 450.
  EXPECT_THAT(all[0]["why"],
              testing::StartsWith("its time is 0 in most steps, so means are compared: B − A is between +2"));
}

TEST_F(CompareRare, TwoOfThemAreTooFewAndItSaysSo) {
  const auto twice = [](int step) { return step == 3 || step == 9; };
  const json all = kernels(with_optimizer(500, twice), with_optimizer(2'000, twice));
  ASSERT_EQ(all[0]["name"], "sgd") << all;
  EXPECT_EQ(all[0]["verdict"], "cannot tell");
  EXPECT_THAT(all[0]["why"], testing::HasSubstr("the interval is too wide"));
  EXPECT_DOUBLE_EQ(all[0]["a_s"], 62.5e-6);
}

TEST_F(CompareRare, EqualWorkNowAndThenDoesNotDiffer) {
  const json all = kernels(with_optimizer(500), with_optimizer(500));
  const json sgd = row(report_, "compare_kernels", {{"name", "sgd"}});
  EXPECT_EQ(sgd["verdict"], "no difference shown") << sgd;
  EXPECT_EQ(sgd["a_s"], sgd["b_s"]);
}

TEST_F(CompareRare, WhatTakesNoTimeSaysWhyItCannotBeJudged) {
  kernels(with_optimizer(0), with_optimizer(0));
  const json rest = row(report_, "compare_kernels", {{"kind", "various"}});
  EXPECT_EQ(rest["verdict"], "cannot tell");
  EXPECT_THAT(rest["why"], testing::HasSubstr("time is 0"));
}

}  // namespace
}  // namespace ddpprof
