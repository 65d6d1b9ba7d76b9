// A line for each of NCCL's regimes against one line for all: on all-reduces that cost what NCCL's own estimate says.
#include "analysis/fit/regimes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "analysis/fit/all_reduce_fit.hpp"
#include "simulator/collective/nccl.hpp"
#include "simulator/stats/random.hpp"
#include "simulator/stats/summary.hpp"
#include "tests/simulator/reference/nccl_choice.hpp"

namespace ddpprof::fit {
namespace {

namespace nccl = collective::nccl;
using testing::HasSubstr;

constexpr std::int64_t kib = 1024, mib = 1024 * kib;
constexpr std::int64_t ranks_per_node = 8;

// Hosts of eight A100s with NVLink, as simulator/collective/nccl describes machines: the truth of these tests.
nccl::System system_of(std::int64_t workers) {
  nccl::System system;
  system.ranks = workers;
  system.nodes = (workers + ranks_per_node - 1) / ranks_per_node;
  system.channels = 8;
  system.network_us = 5.0;
  return system;
}

std::string name_of(const nccl::Estimate& estimate) {
  std::string name = to_string(estimate);
  for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

CollectivePoint truth(std::int64_t workers, std::int64_t bytes) {
  const nccl::Estimate estimate = *nccl::all_reduce(system_of(workers), bytes);
  CollectivePoint point;
  point.machine = {.workers = workers, .backend = "nccl", .device = "cuda"};
  point.machine.nodes = point.machine.machines = system_of(workers).nodes;
  point.machine.cores = 64;
  point.bytes = bytes;
  point.transfer_s = estimate.total_s();
  point.count = 20;
  point.regime = name_of(estimate);
  return point;
}

std::vector<CollectivePoint> measured(const std::vector<std::int64_t>& workers, const std::vector<std::int64_t>& sizes,
                                      double noise, std::uint64_t seed) {
  stats::Random random(seed);
  std::vector<CollectivePoint> points;
  for (const std::int64_t n : workers)
    for (const std::int64_t bytes : sizes) {
      points.push_back(truth(n, bytes));
      points.back().transfer_s *= std::exp(noise * random.normal());
      points.back().noise = noise;
    }
  return points;
}

std::vector<CollectivePoint> without_regimes(std::vector<CollectivePoint> points) {
  for (CollectivePoint& point : points) point.regime.clear();
  return points;
}

const std::vector<std::int64_t> ladder_sizes = {16 * kib, 64 * kib, 256 * kib, mib,      2 * mib,
                                                4 * mib,  8 * mib,  25 * mib,  64 * mib, 100 * mib};

struct Errors {
  double median = 0, largest = 0;
};
Errors errors_at(const AllReduceFit& fit, const std::vector<std::int64_t>& workers) {
  std::vector<double> all;
  for (const std::int64_t n : workers)
    for (const std::int64_t bytes : ladder_sizes) {
      const CollectivePoint point = truth(n, bytes);
      const double said = fit.picked().cost(point.machine, bytes, fit.picked().solution.values).total_s();
      all.push_back(std::expm1(std::abs(std::log(said / point.transfer_s))));
    }
  return {stats::median(all), *std::max_element(all.begin(), all.end())};
}

// Measured with 2 to 16 ranks and 3 % noise, asked about 32 and 64: five draws of the noise. Over them regimes are off
// by 7 % in the median and 35 % at worst, one line by 10 % and 175 %; at the measured N by 1 % and 18 %.
TEST(Regimes, PredictNcclsPiecewiseCostBetterThanOneLine) {
  std::vector<double> with, without;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const std::vector<CollectivePoint> points = measured({2, 4, 8, 16}, ladder_sizes, 0.03, seed);
    const AllReduceFit regimes = fit_all_reduce(points), line = fit_all_reduce(without_regimes(points));
    ASSERT_TRUE(regimes.usable) << regimes.status;
    EXPECT_EQ(regimes.picked().form.name(), "nccl-regimes") << regimes.status;
    EXPECT_EQ(line.picked().form.name(), "ring");
    EXPECT_LT(errors_at(regimes, {2, 4, 8, 16}).median, 0.05);
    EXPECT_GT(errors_at(line, {2, 4, 8, 16}).median, 0.1);
    const Errors beyond = errors_at(regimes, {32, 64}), line_beyond = errors_at(line, {32, 64});
    EXPECT_LT(beyond.largest, 0.5 * line_beyond.largest) << "seed " << seed;
    with.push_back(beyond.median);
    without.push_back(line_beyond.median);
  }
  EXPECT_LT(stats::median(with), 0.8 * stats::median(without));
}

// Trees came with the largest N, so that no fit of the smaller ones tells of them and nothing is held out. As many
// factors as points fit to 1 or 2 %, and are off by 25 % in the median at 32 and 64 ranks: what is allowed for each
// doubling beyond 16 ranks is what one line missed where it was held out. 34 of these 40 truths lie within 90 % of it,
// and 2 within that of the fit's own error.
TEST(Regimes, AreUncertainIfNoneCouldBeHeldOut) {
  const std::vector<std::int64_t> sizes = {40 * kib, 600 * kib, 4 * mib, 25 * mib};
  std::int64_t inside = 0, all = 0;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const std::vector<CollectivePoint> points = measured({2, 4, 8, 16}, sizes, 0.03, seed);
    const AllReduceFit regimes = fit_all_reduce(points), line = fit_all_reduce(without_regimes(points));
    const FormFit& picked = regimes.picked();
    ASSERT_EQ(picked.form.name(), "nccl-regimes");
    ASSERT_FALSE(picked.held_out_error);
    ASSERT_TRUE(line.picked().held_out_error);
    EXPECT_LT(picked.solution.median_relative_error, 0.04);
    EXPECT_GE(picked.beyond_error, *line.picked().held_out_error);
    EXPECT_EQ(line.picked().beyond_error, *line.picked().held_out_error);
    for (const std::int64_t workers : {32, 64})
      for (const std::int64_t bytes : sizes) {
        const CollectivePoint point = truth(workers, bytes);
        const double said = picked.cost(point.machine, bytes, picked.solution.values).total_s();
        const double sd = std::log1p(picked.beyond_error) * std::log2(static_cast<double>(workers) / 16.0);
        ++all;
        inside += std::abs(std::log(said / point.transfer_s)) <= 1.645 * sd;
      }
  }
  EXPECT_GE(100 * inside, 80 * all) << inside << " of " << all;
}

TEST(Regimes, GiveTheRegimeOfEachSize) {
  const std::vector<CollectivePoint> points = measured({2, 4, 8, 16}, ladder_sizes, 0.0, 1);
  const std::shared_ptr<const Regimes> regimes = Regimes::fitted(points);
  ASSERT_NE(regimes, nullptr);
  for (const CollectivePoint& point : points)
    EXPECT_EQ(regimes->at(point.machine.workers, point.bytes).name, point.regime)
        << point.machine.workers << " " << point.bytes;
  std::int64_t right = 0, all = 0;
  for (const std::int64_t workers : {32, 64})
    for (const std::int64_t bytes : ladder_sizes) {
      ++all;
      right += regimes->at(workers, bytes).name == truth(workers, bytes).regime;
    }
  EXPECT_GE(10 * right, 7 * all);
}

TEST(Regimes, OneRegimeIsNotAFormOfItsOwn) {
  std::vector<CollectivePoint> points = measured({2, 4, 8}, ladder_sizes, 0.02, 3);
  EXPECT_EQ(Regimes::fitted(without_regimes(points)), nullptr);
  for (CollectivePoint& point : points) point.regime = "RING/SIMPLE";
  EXPECT_EQ(Regimes::fitted(points), nullptr);
  const AllReduceFit one = fit_all_reduce(points), none = fit_all_reduce(without_regimes(points));
  EXPECT_EQ(one.picked().solution.values, none.picked().solution.values);
  EXPECT_EQ(one.status, none.status);
}

// A regime that was seen once keeps near the others.
TEST(Regimes, ARegimeWithFewPointsStaysNearTheOthers) {
  std::vector<CollectivePoint> points = measured({2, 4, 8}, {4 * mib, 8 * mib, 25 * mib, 64 * mib}, 0.02, 4);
  for (CollectivePoint& point : points) point.regime = "RING/SIMPLE";
  CollectivePoint odd = truth(4, 64 * kib);
  odd.regime = "TREE/LL";
  points.push_back(odd);
  const std::shared_ptr<const Regimes> regimes = Regimes::fitted(points);
  ASSERT_NE(regimes, nullptr);
  for (const Regime& regime : regimes->all()) {
    EXPECT_GT(regime.latency_factor, 0.05) << regime.name;
    EXPECT_LT(regime.latency_factor, 20.0) << regime.name;
  }
  EXPECT_THAT(regimes->ladder_text(4), HasSubstr("TREE/LL up to "));
}

}  // namespace
}  // namespace ddpprof::fit
