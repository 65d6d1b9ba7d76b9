// The solver and the fits against cases with a known answer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "analysis/fit/all_reduce_fit.hpp"
#include "analysis/fit/compute_fit.hpp"
#include "analysis/fit/least_squares.hpp"
#include "analysis/fit/text.hpp"
#include "simulator/stats/random.hpp"
#include "simulator/stats/summary.hpp"

namespace ddpprof::fit {
namespace {

// log y = x0 + x1 t with a flat prior: ordinary least squares, whose covariance is sd^2 (X'X)^-1.
TEST(LeastSquares, MatchesOrdinaryRegression) {
  const std::vector<double> t = {0.0, 1.0, 2.0, 3.0};
  const std::vector<double> log_y = {1.02, 1.48, 2.01, 2.49};
  Problem problem;
  problem.parameters = {{"x0", "", 0.0, 1e6, -1e9, 1e9, false, false}, {"x1", "", 0.0, 1e6, -1e9, 1e9, false, false}};
  for (const double value : log_y) {
    problem.measured.push_back(std::exp(value));
    problem.sd.push_back(0.05);
  }
  problem.model = [&](std::span<const double> x, std::size_t i) { return std::exp(x[0] + x[1] * t[i]); };
  const Solution solution = solve(problem);
  ASSERT_TRUE(solution.converged);
  // mean t 1.5, Stt 5; mean y 1.75; Sty = -1.5 (-0.73) - 0.5 (-0.27) + 0.5 (0.26) + 1.5 (0.74) = 2.47.
  EXPECT_NEAR(solution.values[1], 2.47 / 5.0, 1e-6);
  EXPECT_NEAR(solution.values[0], 1.75 - 1.5 * 2.47 / 5.0, 1e-6);
  // Var x1 = 0.05^2 / 5; Var x0 = 0.05^2 (1/4 + 1.5^2 / 5); Cov = -0.05^2 1.5 / 5.
  EXPECT_DOUBLE_EQ(solution.residual_scale, 1.0);
  EXPECT_NEAR(solution.x_covariance[3], 0.0025 / 5.0, 1e-8);
  EXPECT_NEAR(solution.x_covariance[0], 0.0025 * 0.7, 1e-8);
  EXPECT_NEAR(solution.x_covariance[1], -0.0025 * 0.3, 1e-8);
}

TEST(LeastSquares, OneWildPointHardlyMovesIt) {
  Problem problem;
  problem.parameters = {{"level", "s", 0.0, 1e6, -1e9, 1e9, true, false}};
  for (const double value : {1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 100.0}) {
    problem.measured.push_back(value);
    problem.sd.push_back(0.02);
  }
  problem.model = [](std::span<const double> x, std::size_t) { return x[0]; };
  const Solution solution = solve(problem);
  // Huber at 2 sd: the wild point pulls with 2 x 0.02 over nine points, 0.44 %.
  EXPECT_NEAR(std::log(solution.values[0]), 2.0 * 0.02 / 9.0, 1e-5);
  EXPECT_GT(solution.residual_scale, 1.0);
}

TEST(LeastSquares, ABoundHoldsAndIsReported) {
  Problem problem;
  problem.parameters = {{"a", "", 0.0, 1e6, -1.0, 0.5, false, false}, {"b", "", 0.0, 1.0, -5.0, 5.0, false, false}};
  problem.measured = {std::exp(2.0)};
  problem.sd = {0.01};
  problem.model = [](std::span<const double> x, std::size_t) { return std::exp(x[0] + 1e-12 * x[1]); };
  const Solution solution = solve(problem);
  EXPECT_TRUE(solution.at_bound[0]);
  EXPECT_NEAR(solution.values[0], 0.5, 1e-6);
  EXPECT_EQ(solution.x_covariance[0], 0.0);
  // The data say nothing of b: it keeps its prior's width.
  EXPECT_FALSE(solution.identified[1]);
  EXPECT_NEAR(solution.x_sd[1], 1.0, 1e-6);
}

TEST(LeastSquares, AParameterThatKeepsItsPriorCostsNoDegreeOfFreedom) {
  // Three points a factor of e apart and one level; two more parameters that no point feels.
  Problem problem;
  problem.parameters = {{"level", "s", 0.0, 1e6, -1e9, 1e9, true, false},
                        {"unseen", "", 0.0, 1.0, -9.0, 9.0, false, false},
                        {"unfelt", "", 0.0, 1.0, -9.0, 9.0, false, false}};
  problem.measured = {std::exp(-0.1), 1.0, std::exp(0.1)};
  problem.sd = {0.08, 0.08, 0.08};
  problem.model = [](std::span<const double> x, std::size_t) { return x[0]; };
  const Solution solution = solve(problem);
  EXPECT_NEAR(solution.freedom, 2.0, 1e-6);
  // Residuals of 1.25, 0 and 1.25 standard deviations over two degrees of freedom.
  EXPECT_NEAR(solution.residual_scale, 1.25, 1e-6);
  EXPECT_NEAR(solution.x_sd[0], 1.25 * 0.08 / std::sqrt(3.0), 1e-6);
  EXPECT_NEAR(solution.x_sd[1], 1.0, 1e-6) << "a prior's width does not depend on the points' scatter";
}

TEST(LeastSquares, StoppedIsAtTheSolutionOrNotConverged) {
  Problem problem;
  problem.parameters = {{"a", "s", std::log(1e-9), 1e3, -1e9, 1e9, true, false},
                        {"b", "s", std::log(1e-2), 1e3, -1e9, 1e9, true, false}};
  problem.measured = {3.0, 5.0, 11.0};
  problem.sd = {0.01, 0.01, 0.01};
  problem.model = [](std::span<const double> x, std::size_t i) { return x[0] + x[1] * static_cast<double>(1 << i); };
  const Solution full = solve(problem);
  EXPECT_TRUE(full.converged);
  for (const int most : {1, 2, 5}) {  // Ceres calls what it has by then usable
    problem.max_iterations = most;
    const Solution stopped = solve(problem);
    EXPECT_NE(stopped.message, "") << most;
    if (!stopped.converged) continue;
    EXPECT_NEAR(stopped.x[1], full.x[1], 1e-3) << most;  // next to b, a has no effect
  }
}

TEST(LeastSquares, DrawsHaveTheSolutionsCovariance) {
  Problem problem;
  problem.parameters = {{"a", "", 0, 1, -1e9, 1e9, false, false},
                        {"b", "", 0, 1, -1e9, 1e9, false, false},
                        {"held", "", 0, 1, -1e9, 1e9, false, true}};
  Solution solution;
  solution.x = {1.0, -2.0, 7.0};
  solution.x_covariance = {4.0, 1.2, 0.0, 1.2, 1.0, 0.0, 0.0, 0.0, 0.0};
  stats::Random random(4);
  double aa = 0, ab = 0, bb = 0;
  const int draws = 40000;
  for (int i = 0; i < draws; ++i) {
    const std::vector<double> values =
        draw(problem, solution, std::vector{random.normal(), random.normal(), random.normal()});
    aa += (values[0] - 1.0) * (values[0] - 1.0) / draws;
    ab += (values[0] - 1.0) * (values[1] + 2.0) / draws;
    bb += (values[1] + 2.0) * (values[1] + 2.0) / draws;
    ASSERT_DOUBLE_EQ(values[2], 7.0);
  }
  EXPECT_NEAR(aa, 4.0, 0.15);
  EXPECT_NEAR(ab, 1.2, 0.06);
  EXPECT_NEAR(bb, 1.0, 0.04);
}

CollectivePoint point_of(std::int64_t workers, std::int64_t bytes, double transfer_s, const char* backend) {
  CollectivePoint point;
  point.machine.workers = workers;
  point.machine.cores = 1024;
  point.machine.nodes = point.machine.machines = workers;  // one rank a host: no loopback
  point.machine.backend = backend;
  point.machine.device = "cpu";
  point.bytes = bytes;
  point.transfer_s = transfer_s;
  point.count = 30;
  return point;
}

TEST(AllReduceFit, TheFormThatMadeTheDataIsPicked) {
  // Beyond 2N MiB the segmented ring pays a latency for each segment, a plain ring does not.
  const collective::Link link{400e-6, 2e-9, 0.0};
  std::vector<CollectivePoint> segmented, plain;
  for (const std::int64_t workers : {2, 4, 8}) {
    for (const std::int64_t bytes : {4096, 1 << 20, 16 << 20, 64 << 20}) {
      const double one = collective::gloo_segmented_ring(workers, bytes, link).total_s();
      const double other = collective::ring(workers, static_cast<double>(bytes), link).total_s();
      segmented.push_back(point_of(workers, bytes, one, "gloo"));
      plain.push_back(point_of(workers, bytes, other, "gloo"));
    }
  }
  const AllReduceFit first = fit_all_reduce(segmented);
  EXPECT_EQ(first.picked().form.name(), "gloo-segmented-ring") << first.status;
  EXPECT_NEAR(first.picked().solution.values[0] / link.latency_s, 1.0, 0.02);
  EXPECT_NEAR(first.picked().solution.values[1] / link.bandwidth_s_per_byte, 1.0, 0.02);
  const AllReduceFit second = fit_all_reduce(plain);
  EXPECT_EQ(second.picked().form.name(), "ring") << second.status;
  EXPECT_THAT(second.status, testing::HasSubstr("held-out error"));
  EXPECT_NEAR(second.picked().solution.values[0] / link.latency_s, 1.0, 0.02);
}

TEST(AllReduceFit, CollectivesInFlightTogetherShareTheLink) {
  std::vector<CollectivePoint> points;
  for (const std::int64_t workers : {2, 4}) {
    for (const std::int64_t bytes : {65536, 1 << 20, 8 << 20}) {
      for (const double concurrency : {1.0, 1.6, 2.0}) {
        const auto cost = collective::ring(workers, static_cast<double>(bytes), {1e-3, 1e-8, 0.0});
        points.push_back(point_of(workers, bytes, cost.latency_s + concurrency * cost.bandwidth_s, "nccl"));
        points.back().concurrency = concurrency;
      }
    }
  }
  const AllReduceFit fit = fit_all_reduce(points);
  EXPECT_NEAR(fit.picked().solution.values[0] / 1e-3, 1.0, 0.01);
  EXPECT_NEAR(fit.picked().solution.values[1] / 1e-8, 1.0, 0.01);
}

TEST(AllReduceFit, EightT4RanksOnPcieBetweenTheSizesFitted) {
  // nccl-tests' all_reduce_perf, ring and Simple forced, 8 x T4 on PCIe (g4dn.metal; figures of the AWS ParallelCluster
  // workshop's page on EFA): bytes and microseconds out of place. Every other size is fitted, the rest is predicted;
  // one latency and one bandwidth leave a median error of 4.5 % here.
  const std::vector<std::pair<std::int64_t, double>> sizes = {
      {8, 55.02},        {16, 54.06},        {32, 54.44},         {64, 54.58},        {128, 55.10},
      {256, 55.32},      {512, 55.82},       {1024, 56.55},       {2048, 59.01},      {4096, 60.91},
      {8192, 63.56},     {16384, 68.21},     {32768, 77.48},      {65536, 87.36},     {131072, 116.8},
      {262144, 164.1},   {524288, 248.3},    {1048576, 422.1},    {2097152, 770.2},   {4194304, 1460.6},
      {8388608, 2802.7}, {16777216, 5555.3}, {33554432, 11061.0}, {67108864, 22090.0}};
  std::vector<CollectivePoint> fitted;
  for (std::size_t i = 0; i < sizes.size(); i += 2) {
    fitted.push_back(point_of(8, sizes[i].first, sizes[i].second * 1e-6, "nccl"));
  }
  const AllReduceFit fit = fit_all_reduce(fitted);
  ASSERT_TRUE(fit.usable) << fit.status;
  std::vector<double> errors;
  for (std::size_t i = 1; i < sizes.size(); i += 2) {
    const double predicted_s =
        fit.picked().cost(fitted.front().machine, sizes[i].first, fit.picked().solution.values).total_s();
    errors.push_back(std::abs(predicted_s / (sizes[i].second * 1e-6) - 1.0));
  }
  RecordProperty("median_error_percent", std::to_string(100.0 * stats::median(errors)));
  std::printf("median error %.2f %%\n", 100.0 * stats::median(errors));
  EXPECT_LT(stats::median(errors), 0.05);
}

TEST(AllReduceFit, AWeakExtrapolationIsAWarning) {
  // From N = 4 to 8 a switch saturates: three times what the smaller N say, so off by 200 % or, the other way round,
  // by as much.
  std::vector<CollectivePoint> points;
  for (const std::int64_t workers : {2, 4, 8}) {
    for (const std::int64_t bytes : {4096, 1 << 20, 16 << 20}) {
      const double one_s = collective::ring(workers, static_cast<double>(bytes), {1e-4, 1e-9, 0.0}).total_s();
      points.push_back(point_of(workers, bytes, one_s * (workers == 8 ? 3.0 : 1.0), "nccl"));
    }
  }
  const AllReduceFit fit = fit_all_reduce(points);
  ASSERT_TRUE(fit.picked().held_out_error.has_value());
  EXPECT_NEAR(*fit.picked().held_out_error, 2.0, 0.1);
  EXPECT_THAT(fit.warnings,
              testing::ElementsAre(testing::StartsWith("fitted to the smaller N, it is off by"),
                                   testing::StartsWith("it is off by more than a factor of 2 at 3 of 9")));
  EXPECT_THAT(fit.status, testing::HasSubstr("WARNING: fitted to the smaller N, it is off by"));
  const std::vector<CollectivePoint> two = {points[0], points[2]};
  EXPECT_THAT(fit_all_reduce(two).status, testing::HasSubstr("WARNING: the fit has 2 points for "));
}

// Traces of a few steps have such points: the median error is acceptable, but two of five do not follow the model.
TEST(AllReduceFit, PointsFarFromTheModelAreAWarning) {
  std::vector<CollectivePoint> points;
  for (const double off : {3.6, 0.36, 1.1, 0.9, 1.0}) {
    const std::int64_t bytes = (8 + 6 * static_cast<std::int64_t>(points.size())) << 20;
    const double one_s = collective::ring(2, static_cast<double>(bytes), {5e-6, 1e-9, 0.0}).total_s();
    points.push_back(point_of(2, bytes, off * one_s, "nccl"));
  }
  const AllReduceFit fit = fit_all_reduce(points);
  EXPECT_TRUE(fit.usable) << fit.status;
  EXPECT_THAT(fit.warnings, testing::Contains(testing::StartsWith("it is off by more than a factor of 2 at 2 of 5")));
  points.resize(0);
  for (const std::int64_t mib : {1, 4, 16, 64, 256}) {
    const double one_s = collective::ring(2, static_cast<double>(mib << 20), {5e-6, 1e-9, 0.0}).total_s();
    points.push_back(point_of(2, mib << 20, 1.1 * one_s, "nccl"));
  }
  EXPECT_THAT(fit_all_reduce(points).warnings, testing::IsEmpty());
}

TEST(AllReduceFit, BandwidthsBoundComesFromTheLargestMessages) {
  // One lucky small message, a tenth of the others' rate: no bandwidth follows from it.
  std::vector<CollectivePoint> points;
  for (const std::int64_t bytes : {1 << 16, 1 << 18, 16 << 20, 64 << 20}) {
    const double one_s = collective::ring(2, static_cast<double>(bytes), {1e-9, 1e-8, 0.0}).total_s();
    points.push_back(point_of(2, bytes, bytes == 1 << 18 ? 0.1 * one_s : one_s, "nccl"));
  }
  const AllReduceFit fit = fit_all_reduce(points);
  EXPECT_FALSE(fit.picked().solution.at_bound[1]) << fit.status;
  EXPECT_NEAR(fit.picked().solution.values[1] / 1e-8, 1.0, 0.1);
}

TEST(FitRow, NamesFixedAssumedAndFittedParameters) {
  std::vector<CollectivePoint> points;
  for (const std::int64_t workers : {2, 4})
    points.push_back(point_of(workers, 44, 1e-4 * static_cast<double>(workers - 1), "nccl"));
  const auto parameters = nlohmann::ordered_json::parse(to_row(fit_all_reduce(points)).parameters);
  EXPECT_EQ(parameters.begin().key(), "latency") << "the covariance's first, not the alphabet's";
  EXPECT_EQ(parameters.at("latency").at("state"), "fitted");
  EXPECT_EQ(parameters.at("inverse_bandwidth").at("state"), "assumed");
  EXPECT_EQ(parameters.at("in_step_factor").at("state"), "fixed");
  EXPECT_TRUE(parameters.at("in_step_factor").at("standard_error").is_null());
  EXPECT_TRUE(parameters.at("latency").at("standard_error").is_number());
}

TEST(Text, ThreeFiguresWithoutAnExponent) {
  EXPECT_EQ(rate_text(999.9e6), "1000 MB/s");
  EXPECT_EQ(rate_text(1e9), "1 GB/s");
  EXPECT_EQ(time_text(220e-6), "220 µs");
  EXPECT_EQ(time_text(1234.5), "1234 s");
  EXPECT_EQ(percent(0.0316), "3.16 %");
  EXPECT_EQ(percent(12.0), "1200 %");
  EXPECT_EQ(percent(0.0), "0 %");
  EXPECT_EQ(percent(-0.25), "-25 %");
}

TEST(AllReduceFit, ScatterThatNoFormExplainsIsNotUsable) {
  stats::Random random(8);
  std::vector<CollectivePoint> points;
  for (const std::int64_t workers : {2, 4, 8}) {
    for (int i = 0; i < 8; ++i) points.push_back(point_of(workers, 1 << 20, std::exp(3.0 * random.normal()), "nccl"));
  }
  const AllReduceFit fit = fit_all_reduce(points);
  EXPECT_FALSE(fit.usable);
  EXPECT_THAT(fit.status, testing::HasSubstr("median relative error"));
  EXPECT_FALSE(fit_all_reduce({}).usable);
}

StepProfile profile_of(std::int64_t workers, std::int64_t threads, std::int64_t cores, double compute_s) {
  StepProfile profile;
  profile.machine.workers = workers;
  profile.machine.threads_per_rank = threads;
  profile.machine.cores = cores;
  profile.machine.device = "cpu";
  profile.forward_s = compute_s;
  return profile;
}

TEST(ComputeFit, ThreadsAndSharedCoresAreToldApart) {
  // 16 cores, threads max(1, 16 / N): 8 s on one thread, exponent 0.7; beyond 16 ranks the cores divide with 1.1.
  std::map<std::int64_t, StepProfile> profiles;
  for (const std::int64_t workers : {1, 2, 4, 8, 16, 32, 64}) {
    const std::int64_t threads = std::max<std::int64_t>(1, 16 / workers);
    const double crowding = std::max(1.0, static_cast<double>(workers) / 16.0);
    const double compute_s = 8.0 * std::pow(static_cast<double>(threads), -0.7) * std::pow(crowding, 1.1);
    profiles.emplace(workers, profile_of(workers, threads, 16, compute_s));
  }
  const ComputeFit fit = fit_compute("ddp", profiles);
  ASSERT_TRUE(fit.usable) << fit.status;
  EXPECT_NEAR(fit.solution.values[1], 0.7, 0.01);
  EXPECT_NEAR(fit.solution.values[3], 1.1, 0.01);
  EXPECT_TRUE(fit.threads_follow_cores);
  EXPECT_EQ(fit.machine_for(3, 0).threads_per_rank, 5);
  EXPECT_EQ(fit.machine_for(128, 4).nodes, 32);
  EXPECT_EQ(fit.dedicated_machine(128).threads_per_rank, 16);
}

TEST(ComputeFit, AssumptionsAreReported) {
  const ComputeFit fit = fit_compute("ddp", {{1, profile_of(1, 4, 4, 1.0)}});
  EXPECT_THAT(fit.status, testing::HasSubstr("assumed (exponent 1.0 ± 0.25)"));
  EXPECT_THAT(fit.status, testing::HasSubstr("assumed (exponent 0.8 ± 0.3)"));
  StepProfile gpu = profile_of(2, 4, 4, 1.0);
  gpu.machine.device = "cuda";
  const ComputeFit own = fit_compute("ddp", {{2, gpu}});
  EXPECT_DOUBLE_EQ(own.compute_s(own.machine_for(64, 8), own.solution.values), own.solution.values[0]);
}

TEST(ComputeFit, MeetsEveryMeasuredNAndGoesOnFromTheLargest) {
  // Two cores, one thread each: the second rank nearly triples the compute though no core is shared yet.
  std::map<std::int64_t, StepProfile> profiles;
  const std::map<std::int64_t, double> measured_s = {{1, 0.232}, {2, 0.670}, {4, 1.41}};
  for (const auto& [workers, compute_s] : measured_s) profiles.emplace(workers, profile_of(workers, 1, 2, compute_s));
  const ComputeFit fit = fit_compute("ddp", profiles);
  ASSERT_TRUE(fit.usable) << fit.status;
  EXPECT_LT(fit.worst_relative_error, 0.1);
  for (const auto& [workers, compute_s] : measured_s) {
    EXPECT_NEAR(fit.compute_s(fit.machine_for(workers, 0), fit.solution.values), compute_s, 1e-9 * compute_s);
  }
  const double three_s = fit.compute_s(fit.machine_for(3, 0), fit.solution.values);
  EXPECT_GT(three_s, 0.670);
  EXPECT_LT(three_s, 1.41);
  // Twice the ranks on the same cores from N = 4 on: twice the time, within the exponent's prior.
  EXPECT_NEAR(fit.compute_s(fit.machine_for(8, 0), fit.solution.values) / 1.41, 2.0, 0.3);
  EXPECT_DOUBLE_EQ(fit.compute_s(fit.machine_for(64, 1), fit.solution.values),
                   fit.compute_s(fit.machine_for(1, 0), fit.solution.values));
}

TEST(ComputeFit, OneNFarOffTheLawMakesItUnusable) {
  // A median forgives one N in five: 4 ranks took three times what their neighbours say.
  std::map<std::int64_t, StepProfile> profiles;
  for (const std::int64_t workers : {1, 2, 4, 8, 16}) {
    profiles.emplace(workers, profile_of(workers, 1, 1, static_cast<double>(workers) * (workers == 4 ? 3.0 : 1.0)));
  }
  const ComputeFit fit = fit_compute("ddp", profiles);
  EXPECT_LT(fit.solution.median_relative_error, 0.35);
  EXPECT_FALSE(fit.usable);
  EXPECT_THAT(fit.status, testing::HasSubstr("at N = 4"));
}

}  // namespace
}  // namespace ddpprof::fit
