// Kernels of two files with chosen durations: changes, their share of the step, and verdicts.
#include <gmock/gmock.h>

#include <cmath>

#include "tests/analysis/report/kernels_of_steps.hpp"
#include "tests/analysis/report/two_files.hpp"

namespace ddpprof {
namespace {

using nlohmann::json;
using test::Kernel;
using test::TracedSteps;

class CompareKernels : public test::TwoFiles {
 protected:
  json kernels(const TracedSteps& a, const TracedSteps& b) {
    test::import_of(*a_, a);
    test::import_of(*b_, b);
    report_ = compared();
    return rows(report_, "compare_kernels");
  }
  json report_;
};

// Every third step takes 1 % more, so that the interval of the median has a width.
std::int64_t scatter_us(int step, std::int64_t) { return step % 3 == 2 ? 100 : 0; }

// 20 of 100 ms become 30.
TEST_F(CompareKernels, ASlowerKernelIsOnTopWithItsPartOfTheStep) {
  const json all = kernels({.kernels = {{.calls = 2}, {"relu"}}}, {.kernels = {{"gemm", 15'000, 2}, {"relu"}}});
  ASSERT_EQ(all.size(), 2U) << all;
  const json& gemm = all[0];
  EXPECT_EQ(gemm["name"], "gemm");
  EXPECT_EQ(gemm["kind"], "compute");
  EXPECT_EQ(gemm["shape"], "grid 2, block 128");
  EXPECT_EQ(gemm["verdict"], "different");
  EXPECT_EQ(gemm["change"], "slower calls");
  EXPECT_DOUBLE_EQ(gemm["a_s"], 0.020);
  EXPECT_DOUBLE_EQ(gemm["b_s"], 0.030);
  EXPECT_NEAR(gemm["difference_of_step"].get<double>(), 0.10, 1e-12);
  EXPECT_DOUBLE_EQ(gemm["a_calls"], 2.0);
  EXPECT_DOUBLE_EQ(gemm["b_call_s"], 0.015);
  EXPECT_DOUBLE_EQ(gemm["ratio"], 1.5);
  EXPECT_EQ(all[1]["name"], "relu");
  EXPECT_EQ(all[1]["verdict"], "no difference shown");
  EXPECT_EQ(all[1]["change"], "");
  EXPECT_EQ(row(report_, "compare_answer", {{"verdict", "different"}})["what"],
            "on the devices: gemm (grid 2, block 128) +10 ms a step (+10 % of A's step, slower calls)");
}

// Regression: one long call in A made the mean of its calls longer than in B. The step's median is shorter.
TEST_F(CompareKernels, TheChangeAgreesWithTheVerdict) {
  const auto disturbed = [](int step, std::int64_t) { return step == 3 ? 70'000 : 0; };
  const json all = kernels({.kernels = {{}}, .steps = 20, .noise_us = disturbed},
                           {.kernels = {{"gemm", 12'000}}, .steps = 20});
  const json& gemm = all.at(0);
  EXPECT_EQ(gemm["verdict"], "different");
  EXPECT_GT(gemm["a_call_s"].get<double>(), gemm["b_call_s"].get<double>());
  EXPECT_EQ(gemm["change"], "slower calls");
  EXPECT_EQ(row(report_, "compare_answer", {{"verdict", "different"}})["what"],
            "on the devices: gemm (grid 2, block 128) +2 ms a step (+2.0 % of A's step, slower calls)");
}

TEST_F(CompareKernels, TheIntervalComesFromTheScatterOverSteps) {
  const json all =
      kernels({.kernels = {{}}, .noise_us = scatter_us}, {.kernels = {{"gemm", 12'000}}, .noise_us = scatter_us});
  const json& gemm = all.at(0);
  EXPECT_EQ(gemm["verdict"], "different");
  EXPECT_DOUBLE_EQ(gemm["ratio"], 1.2);
  // The extreme draws have medians of 10.1 ms (A) and 12.0 ms (B), or 10.0 ms and 12.1 ms.
  EXPECT_GE(gemm["ratio_low"].get<double>(), 12.0 / 10.1 - 1e-9);
  EXPECT_LE(gemm["ratio_high"].get<double>(), 12.1 / 10.0 + 1e-9);
  EXPECT_LT(gemm["ratio_low"].get<double>(), gemm["ratio_high"].get<double>());
}

TEST_F(CompareKernels, NoiseAloneIsNoDifference) {
  const auto noise = [](std::int64_t seed) {
    return [seed](int step, std::int64_t rank) { return (step * 7919 + rank * 104'729 + seed * 31) % 400 - 200; };
  };
  const json all = kernels({.kernels = {{}, {"relu", 5'000}}, .steps = 30, .ranks = 2, .noise_us = noise(1)},
                           {.kernels = {{}, {"relu", 5'000}}, .steps = 30, .ranks = 2, .noise_us = noise(2)});
  ASSERT_EQ(all.size(), 2U);
  for (const json& one : all) EXPECT_EQ(one["verdict"], "no difference shown") << one;
  for (const json& answer : rows(report_, "compare_answer")) EXPECT_NE(answer["verdict"], "different") << answer;
}

// One import is one run, and two equal runs may differ by 5 %.
TEST_F(CompareKernels, AFewPercentOfOneRunEachCannotBeTold) {
  const json all = kernels({.kernels = {{}}}, {.kernels = {{"gemm", 10'500}}});
  EXPECT_EQ(all.at(0)["verdict"], "cannot tell");
  EXPECT_THAT(all.at(0)["why"], testing::HasSubstr("one repeat in both files"));
}

TEST_F(CompareKernels, MoreCallsAreToldFromSlowerOnes) {
  const json all = kernels({.kernels = {{.calls = 2}}}, {.kernels = {{.calls = 3}}});
  EXPECT_EQ(all.at(0)["change"], "more calls");
  EXPECT_EQ(all.at(0)["verdict"], "different");
  EXPECT_DOUBLE_EQ(all.at(0)["a_calls"], 2.0);
  EXPECT_DOUBLE_EQ(all.at(0)["b_calls"], 3.0);
  EXPECT_DOUBLE_EQ(all.at(0)["b_call_s"], 0.010);
}

TEST_F(CompareKernels, AKernelOfOneFileAloneIsListedWithWhereItIs) {
  const json all = kernels({.kernels = {{}, {"old", 20'000, 1}}}, {.kernels = {{}, {"new", 5'000, 3}}});
  ASSERT_EQ(all.size(), 3U) << all;
  EXPECT_EQ(all[0]["name"], "old");
  EXPECT_EQ(all[0]["change"], "only in A");
  EXPECT_EQ(all[0]["verdict"], "different");
  EXPECT_EQ(all[0]["why"], "in 8 of 8 steps of A, in 0 of 8 steps of B");
  EXPECT_NEAR(all[0]["difference_of_step"].get<double>(), -0.20, 1e-12);
  EXPECT_TRUE(all[0]["b_call_s"].is_null());
  EXPECT_EQ(all[1]["name"], "new");
  EXPECT_EQ(all[1]["change"], "only in B");
  EXPECT_DOUBLE_EQ(all[1]["a_s"], 0.0);
}

TEST_F(CompareKernels, AKernelOfSomeStepsAloneIsNotCalledNew) {
  // In 4 of 7 steps, so the median is not 0.
  const auto even = [](int step) { return step % 2 == 0; };
  const json all =
      kernels({.kernels = {{}}, .steps = 7}, {.kernels = {{}, {.name = "new", .in_step = even}}, .steps = 7});
  EXPECT_EQ(all.at(0)["name"], "new");
  EXPECT_EQ(all.at(0)["verdict"], "cannot tell");
  EXPECT_EQ(all.at(0)["why"], "in 4 of 7 steps of B, in 0 of 7 steps of A");
}

TEST_F(CompareKernels, OneGoneAndOneNewOfEqualShapeAndCallsMayBeARenaming) {
  const json all =
      kernels({.kernels = {{}, {"sgemm_v1", 20'000, 2, 64, 256}}}, {.kernels = {{}, {"sgemm_v2", 30'000, 2, 64, 256}}});
  ASSERT_EQ(all.size(), 2U) << all;
  EXPECT_EQ(all[0]["name"], "sgemm_v1 → sgemm_v2");
  EXPECT_EQ(all[0]["change"], "renamed?");
  EXPECT_EQ(all[0]["shape"], "grid 64, block 256");
  EXPECT_DOUBLE_EQ(all[0]["ratio"], 1.5);
  EXPECT_EQ(all[0]["verdict"], "different");
}

TEST_F(CompareKernels, OfTwoCandidatesNoneIsTakenForARenaming) {
  const json all = kernels({.kernels = {{"old", 20'000}}}, {.kernels = {{"new", 20'000}, {"newer", 10'000}}});
  ASSERT_EQ(all.size(), 3U) << all;
  for (const json& one : all) EXPECT_THAT(one["change"].get<std::string>(), testing::StartsWith("only in ")) << one;
}

TEST_F(CompareKernels, CallsThatDifferAreNoRenaming) {
  const json all = kernels({.kernels = {{"old", 20'000, 1}}}, {.kernels = {{"new", 20'000, 2}}});
  ASSERT_EQ(all.size(), 2U) << all;
}

TEST_F(CompareKernels, AnotherShapeOfOneNameIsPaired) {
  const json all = kernels({.kernels = {{"relu"}, {"gemm", 20'000, 1, 64}}},
                           {.kernels = {{"relu"}, {"gemm", 10'000, 1, 32}, {"other", 1'000, 1, 64}}});
  ASSERT_EQ(all.size(), 3U) << all;
  EXPECT_EQ(all[0]["name"], "gemm");
  EXPECT_EQ(all[0]["change"], "other shape?");
  EXPECT_EQ(all[0]["shape"], "grid 64, block 128 → grid 32, block 128");
  EXPECT_DOUBLE_EQ(all[0]["ratio"], 0.5);
  EXPECT_EQ(all[1]["change"], "only in B") << "the name has priority over the shape: " << all[1];
}

TEST_F(CompareKernels, NamesAreShortAndShapesOfOneNameApart) {
  const auto file = [](std::int64_t large_us) {
    return TracedSteps{.kernels = {{"void at::native::kernel<4, float>(int)", 2'000, 1, 8},
                                   {"void at::native::kernel<8, double>(int)", 2'000, 1, 8},
                                   {"void at::native::kernel<4, float>(int)", large_us, 1, 9}}};
  };
  const json all = kernels(file(10'000), file(20'000));
  ASSERT_EQ(all.size(), 2U) << all;
  EXPECT_EQ(all[0]["name"], "at::native::kernel");
  EXPECT_EQ(all[0]["shape"], "grid 9, block 128");
  EXPECT_EQ(all[1]["shape"], "grid 8, block 128");
  EXPECT_DOUBLE_EQ(all[1]["a_calls"], 2.0) << "kernels with different template arguments are combined";
}

TEST_F(CompareKernels, CopiesAreMatchedByKindAndBytes) {
  const Kernel small{"", 2'000, 1, 4096, 0, "host_to_device"}, large{"", 2'000, 1, 8192, 0, "host_to_device"};
  Kernel slower = large;
  slower.time_us = 4'000;
  const json all = kernels({.kernels = {small, large}}, {.kernels = {small, slower}});
  ASSERT_EQ(all.size(), 2U) << all;
  EXPECT_EQ(all[0]["kind"], "copy");
  EXPECT_EQ(all[0]["name"], "host_to_device");
  EXPECT_EQ(all[0]["shape"], "8192 B");
  EXPECT_EQ(all[0]["verdict"], "different");
  EXPECT_EQ(all[1]["verdict"], "no difference shown");
}

TEST_F(CompareKernels, SmallOnesShareARowAndNothingOfThemIsLost) {
  const json all = kernels({.kernels = {{}, {"small", 40}, {"smaller", 30}}}, {.kernels = {{}, {"small", 60}}});
  ASSERT_EQ(all.size(), 2U) << all;
  const json rest = all[0];
  EXPECT_EQ(rest["kind"], "various");
  EXPECT_EQ(rest["name"], "2 other names and shapes");
  EXPECT_DOUBLE_EQ(rest["a_s"], 70e-6);
  EXPECT_DOUBLE_EQ(rest["b_s"], 60e-6);
}

TEST_F(CompareKernels, ANameOfVeryManyShapesIsComparedAsAWhole) {
  const auto file = [](std::int64_t shapes) {
    TracedSteps traced;
    for (std::int64_t i = 0; i < shapes; ++i) traced.kernels.push_back({"varying", 300, 1, 1000 + i});
    return traced;
  };
  const json all = kernels(file(60), file(90));
  ASSERT_EQ(all.size(), 1U) << all;
  EXPECT_EQ(all[0]["shape"], "various");
  EXPECT_DOUBLE_EQ(all[0]["a_s"], 60 * 300e-6);
  EXPECT_DOUBLE_EQ(all[0]["b_s"], 90 * 300e-6);
  EXPECT_EQ(all[0]["change"], "more calls");
}

TEST_F(CompareKernels, OfSeveralRanksItIsTheMean) {
  TracedSteps two{.kernels = {{}}, .ranks = 2};
  two.noise_us = [](int, std::int64_t rank) { return rank * 2'000; };
  const json all = kernels({.kernels = {{}}}, two);
  EXPECT_DOUBLE_EQ(all.at(0)["b_s"], 0.011) << "10 and 12 ms";
  EXPECT_DOUBLE_EQ(all.at(0)["b_calls"], 1.0);
}

TEST_F(CompareKernels, WithoutSingleEventsTotalsAreComparedAndNothingIsSure) {
  // The event before the first step adds 50 ms of gemm to the totals.
  const json all = kernels({.kernels = {{}, {"relu"}}, .raw = false}, {.kernels = {{"gemm", 20'000}, {"relu"}}});
  ASSERT_EQ(all.size(), 2U) << all;
  EXPECT_EQ(all[0]["name"], "gemm");
  EXPECT_TRUE(all[0]["shape"].is_null());
  EXPECT_EQ(all[0]["verdict"], "cannot tell");
  EXPECT_EQ(all[0]["why"],
            "totals of the whole trace / its steps, because A has no single events; import without --no-raw");
  EXPECT_DOUBLE_EQ(all[0]["a_s"], (8 * 0.010 + 0.050) / 8);
  EXPECT_DOUBLE_EQ(all[0]["b_s"], (8 * 0.020 + 0.050) / 8);
  EXPECT_EQ(all[1]["verdict"], "cannot tell");
}

TEST_F(CompareKernels, ThreeStepsAreJudgedByStudentsInterval) {
  const auto noise = [](int step, std::int64_t) { return step * 100; };  // 10.0, 10.1, 10.2 ms against 15.0, 15.1, 15.2
  const json all = kernels({.kernels = {{}}, .steps = 3, .noise_us = noise},
                           {.kernels = {{"gemm", 15'000}}, .steps = 3, .noise_us = noise});
  const json& gemm = all.at(0);
  EXPECT_EQ(gemm["verdict"], "different") << gemm;
  // Logarithms by hand: standard deviations 0.009901 and 0.006623, of the difference of means 0.006878; Welch's and
  // Satterthwaite's degrees 3.4918, Student's quantile there 2.943.
  EXPECT_NEAR(std::log(gemm["ratio_high"].get<double>() / gemm["ratio"].get<double>()), 2.943 * 0.006878, 2e-5);
}

TEST_F(CompareKernels, TwoStepsAreTooFew) {
  const json all =
      kernels({.kernels = {{}, {"old", 20'000, 3}}, .steps = 2}, {.kernels = {{"gemm", 15'000}}, .steps = 2});
  for (const json& one : all) {
    EXPECT_EQ(one["verdict"], "cannot tell") << one;
    EXPECT_THAT(one["why"], testing::HasSubstr("too few steps")) << one;
  }
}

TEST_F(CompareKernels, ImportsAreComparedWhateverTheirModelsAreCalled) {
  const json all = kernels({.kernels = {{}}, .model = "before"}, {.kernels = {{"gemm", 20'000}}, .model = "after"});
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0]["verdict"], "different");
  const std::string note = row(report_, "compare_answer", {{"verdict", "note"}})["what"];
  EXPECT_THAT(note,
              testing::StartsWith("A's model is named before and B's after (imports are named after their files"));
  EXPECT_THAT(note, testing::HasSubstr("both have 8070 parameters"));
  EXPECT_EQ(row(report_, "compare_settings", {{"name", "model"}})["b"], "after");
}

TEST_F(CompareKernels, ImportsThatDifferInTheBatchAloneAreComparedAndNamedAfterIt) {
  EXPECT_EQ(kernels({.kernels = {{}}, .batch = 32}, {.kernels = {{}}, .batch = 64}).size(), 1U);
  EXPECT_THAT(rows(report_, "compare_answer").at(0)["about"].get<std::string>(), testing::HasSubstr("batch 32 and 64"));
}

TEST_F(CompareKernels, ABatchThatOneFileDoesNotSayIsNoHindranceAndSaid) {
  EXPECT_EQ(kernels({.kernels = {{}}, .batch = 32}, {.kernels = {{}}, .batch = 0}).size(), 1U);
  EXPECT_THAT(row(report_, "compare_answer", {{"verdict", "note"}})["what"],
              testing::StartsWith("B has no number of samples per step"));
}

TEST_F(CompareKernels, WithoutABatchThereIsNoThroughput) {
  kernels({.kernels = {{}}, .batch = 32}, {.kernels = {{}}});
  const json throughput = row(report_, "compare_throughput", {{"workers", 2}});
  EXPECT_DOUBLE_EQ(throughput["a_samples_per_s"], 640.0) << "of two ranks";
  EXPECT_TRUE(throughput["b_samples_per_s"].is_null());
  EXPECT_TRUE(throughput["ratio"].is_null());
  EXPECT_THAT(throughput["why"], testing::HasSubstr("--batch-per-worker"));
}

TEST_F(CompareKernels, TracesWithoutStepsAreComparedAsAWhole) {
  const json all = kernels({.kernels = {{}}, .steps = 0}, {.kernels = {{"gemm", 20'000}, {"relu"}}, .steps = 0});
  ASSERT_EQ(all.size(), 1U) << all;
  EXPECT_EQ(all[0]["per"], "trace");
  EXPECT_EQ(all[0]["verdict"], "cannot tell");
  EXPECT_DOUBLE_EQ(all[0]["a_s"], 0.050);
  EXPECT_THAT(all[0]["why"], testing::HasSubstr("neither has steps"));
}

TEST_F(CompareKernels, AnErrorNamesTheFileItIsIn) {
  for (const char* table : {"kernel", "memcpy", "string", "collective"}) {
    test::import_of(*a_, {.kernels = {{}}});
    test::import_of(*b_, {.kernels = {{}}});
    b_->database.sql().exec(std::string("ALTER TABLE ") + table + " RENAME TO gone");
    try {
      compared();
      ADD_FAILURE() << "no error without " << table;
    } catch (const store::DatabaseError& error) {
      EXPECT_EQ(error.path(), b_path_) << table << ": " << error.what();
    }
    SetUp();
  }
}

TEST_F(CompareKernels, StoppedAtAnyMomentNothingIsLeft) {
  test::import_of(*a_, {.kernels = {{}}});
  test::import_of(*b_, {.kernels = {{}}});
  int asked = 0;
  const report::Report whole = report::compare(a_->database, b_->database, {}, [&] { return ++asked, false; });
  EXPECT_FALSE(whole.tables.empty());
  for (int last = 1; last <= asked; ++last) {
    int now = 0;
    EXPECT_TRUE(report::compare(a_->database, b_->database, {}, [&] { return ++now >= last; }).tables.empty()) << last;
  }
}

}  // namespace
}  // namespace ddpprof
