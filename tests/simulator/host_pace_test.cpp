// The host's launches and the device's kernels, beside a queue played out kernel by kernel.
#include "simulator/step/host_pace.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "simulator/stats/random.hpp"

namespace ddpprof::step {
namespace {

constexpr double powers[] = {1.0, 1.6, usual_host_power, 12.0};

TEST(HostPace, WithoutIdleTimeTheDeviceAloneCounts) {
  for (const double power : powers)
    for (const double device : {0.0, 0.3, 1.0, 2.7}) {
      const HostPace pace{0.0, power};
      EXPECT_EQ(pace.phase(device, 1.0), device);
      EXPECT_EQ(pace.phase(device, 0.5), device);
      EXPECT_EQ(pace.busy(device), device);
      EXPECT_EQ(pace.device_for(device), device);
    }
}

TEST(HostPace, AsMeasuredWithoutAChange) {
  for (const double power : powers)
    for (const double idle : {1e-6, 0.1, 0.77, 0.999}) {
      const HostPace pace{idle, power};
      EXPECT_EQ(pace.phase(1.0, 1.0), 1.0);
      EXPECT_NEAR(pace.phase(1.0, 1.0 + 1e-12), 1.0, 1e-9);
      EXPECT_NEAR(pace.busy(1.0), 1.0 - idle, 1e-15);
      EXPECT_NEAR(pace.phase(1.0, 0.0), 1.0 - idle, 1e-12) << "free launches leave the kernels";
    }
}

// p = 1: launches and kernels follow each other.
TEST(HostPace, TimesAddUpIfTheHostWaitsForEachKernel) {
  const HostPace pace{0.25, 1.0};
  EXPECT_NEAR(pace.phase(2.0, 1.0), 1.5 + 0.25, 1e-12);
  EXPECT_NEAR(pace.phase(2.0, 0.5), 1.5 + 0.125, 1e-12);
}

TEST(HostPace, IsNeverBelowEitherAndGrowsWithBoth) {
  for (const double power : powers)
    for (const double idle : {0.05, 0.4, 0.9}) {
      const HostPace pace{idle, power};
      double before = 0.0;
      for (const double device : {0.1, 0.5, 1.5, 4.0}) {
        const double phase = pace.phase(device, 1.0);
        EXPECT_GE(phase, pace.busy(device));
        EXPECT_GE(phase, pace.phase(0.0, 1.0));
        EXPECT_LE(phase, pace.busy(device) + pace.phase(0.0, 1.0) + 1e-12);
        EXPECT_GE(phase, before) << "equal where the launches hide the kernels to the last digit";
        EXPECT_LT(pace.phase(device, 0.5), phase);
        EXPECT_NEAR(pace.phase(pace.device_for(phase), 1.0), phase, 1e-9);
        before = phase;
      }
      EXPECT_GT(pace.phase(4.0, 1.0), pace.phase(0.1, 1.0));
      EXPECT_EQ(pace.device_for(0.5 * pace.phase(0.0, 1.0)), 0.0) << "launches alone take longer";
    }
}

// A stream: a kernel starts when it is launched and the kernel before it has ended. After every `sync` kernels the host
// waits until the device is idle; 0: never.
double played(const std::vector<double>& kernels, double launch, std::size_t sync) {
  double host = 0.0, device = 0.0;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    if (sync > 0 && i % sync == 0) host = std::max(host, device);
    host += launch;
    device = std::max(device, host) + kernels[i];
  }
  return device;
}

TEST(HostPace, CoversAQueuePlayedOutKernelByKernel) {
  stats::Random random(5);
  const HostPace low{0.0, 1.6}, high{0.0, 12.0};
  int cases = 0;
  for (const double mean : {0.15, 0.3, 0.6}) {  // of a kernel, in launches: the host is slower
    for (const double spread : {0.0, 1.0}) {
      std::vector<double> kernels;
      for (int i = 0; i < 600; ++i)
        kernels.push_back(mean * std::exp(spread * random.normal() - 0.5 * spread * spread));
      double busy = 0.0;
      for (const double kernel : kernels) busy += kernel;
      for (const std::size_t sync : {std::size_t{0}, std::size_t{300}, std::size_t{40}}) {
        const double measured = played(kernels, 1.0, sync), idle = 1.0 - busy / measured;
        ASSERT_GT(idle, 0.2);
        const auto covers = [&](double device, double host) {
          std::vector<double> changed = kernels;
          for (double& kernel : changed) kernel *= device;
          const double truth = played(changed, host, sync) / measured;
          const double all[] = {HostPace{idle, low.power}.phase(device, host),
                                HostPace{idle, usual_host_power}.phase(device, host),
                                HostPace{idle, high.power}.phase(device, host)};
          const std::string what = std::to_string(mean) + " " + std::to_string(spread) + " " + std::to_string(sync) +
                                   ": " + std::to_string(device) + ", " + std::to_string(host);
          EXPECT_GE(truth, *std::min_element(all, all + 3) - 0.03) << what;
          EXPECT_LE(truth, *std::max_element(all, all + 3) + 0.03) << what;
          EXPECT_NEAR(all[1] / truth, 1.0, 0.15) << what;
          ++cases;
        };
        covers(2.0, 1.0);
        covers(0.5, 1.0);
        covers(1.0, 0.5);
        covers(1.5, 0.7);
      }
    }
  }
  EXPECT_EQ(cases, 72);
}

}  // namespace
}  // namespace ddpprof::step
