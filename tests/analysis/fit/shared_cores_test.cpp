// All-reduces of more ranks than cores, against what was measured.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "analysis/fit/all_reduce_fit.hpp"
#include "simulator/stats/summary.hpp"

namespace ddpprof::fit {
namespace {

constexpr std::array<std::int64_t, 4> measured_workers = {2, 4, 8, 16};
struct Size {
  std::int64_t bytes;
  std::array<double, 4> ms;  // median all-reduce of 2, 4, 8 and 16 ranks
};

// `ddpprof bench-comm --workers 2,4,8,16` on two cores, Gloo of torch 2.11 over loopback, Linux 6.
const std::vector<Size>& measured() {
  static const std::vector<Size> sizes = {
      {1024, {0.3626, 5.031, 21.93, 66.24}},   {4096, {0.4126, 4.762, 21.06, 65.68}},
      {16384, {0.3951, 4.872, 23.43, 64.76}},  {65536, {0.4203, 4.918, 23.17, 64.38}},
      {262144, {0.5147, 5.071, 22.87, 66.3}},  {1048576, {1.059, 5.458, 24.36, 65.37}},
      {4194304, {4.742, 10.84, 29.96, 77.78}}, {16777216, {16.81, 33.67, 77.08, 162.6}},
      {67108864, {72.99, 124.8, 273.3, 668}},  {268435456, {272.6, 545.5, 1188, 2335}},
  };
  return sizes;
}

CollectivePoint point_of(std::int64_t workers, std::int64_t bytes, double transfer_s) {
  CollectivePoint point;
  point.machine.workers = workers;
  point.machine.cores = 2;
  point.machine.backend = "gloo";
  point.machine.device = "cpu";
  point.bytes = bytes;
  point.transfer_s = transfer_s;
  point.noise = 0.03;
  point.bench = true;
  return point;
}

double median_error(const FormFit& fit, std::size_t from) {
  std::vector<double> errors;
  for (const Size& size : measured()) {
    for (std::size_t i = from; i < measured_workers.size(); ++i) {
      const Machine machine = point_of(measured_workers[i], size.bytes, 0.0).machine;
      const double predicted_s = fit.cost(machine, size.bytes, fit.solution.values).total_s();
      errors.push_back(std::expm1(std::abs(std::log(predicted_s / (1e-3 * size.ms[i])))));
    }
  }
  return stats::median(errors);
}

// Fitted to 2 and 4 ranks, which are 1 and 2 a core, it has to say what 8 and 16 do.
TEST(SharedCores, EightAndSixteenRanksFromTwoAndFour) {
  std::vector<CollectivePoint> points;
  for (const Size& size : measured()) {
    for (std::size_t i = 0; i < 2; ++i) points.push_back(point_of(measured_workers[i], size.bytes, 1e-3 * size.ms[i]));
  }
  const AllReduceFit fit = fit_all_reduce(points);
  ASSERT_TRUE(fit.usable) << fit.status;
  EXPECT_EQ(fit.picked().form.name(), "gloo-segmented-ring-time-shared") << fit.status;
  for (const FormFit& form : fit.forms) {
    const double error = median_error(form, 2);
    std::printf("%-36s fitted to within %5.1f %%, 8 and 16 ranks to within %5.1f %%\n", form.form.name().c_str(),
                100.0 * form.solution.median_relative_error, 100.0 * error);
    if (&form == &fit.picked()) {
      RecordProperty("median_error_percent", std::to_string(100.0 * error));
      EXPECT_LT(error, 0.25);
    }
  }
}

// A training run has one message size: two points, at 2 and 4 ranks, and the priors.
TEST(SharedCores, EightAndSixteenRanksFromOneMessageSize) {
  const Size& size = measured()[3];
  const AllReduceFit fit =
      fit_all_reduce({point_of(2, size.bytes, 1e-3 * size.ms[0]), point_of(4, size.bytes, 1e-3 * size.ms[1])});
  ASSERT_TRUE(fit.usable) << fit.status;
  for (const std::size_t i : {2U, 3U}) {
    const Machine machine = point_of(measured_workers[i], size.bytes, 0.0).machine;
    const double predicted_s = fit.picked().cost(machine, size.bytes, fit.picked().solution.values).total_s();
    EXPECT_NEAR(std::log(predicted_s / (1e-3 * size.ms[i])), 0.0, std::log(1.25)) << machine.workers;
  }
}

}  // namespace
}  // namespace ddpprof::fit
