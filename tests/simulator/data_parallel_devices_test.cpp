// DataParallel on devices that differ, beside the closed form where they do not; what device 0 holds.
#include <gtest/gtest.h>

#include <stdexcept>

#include "simulator/stats/random.hpp"
#include "simulator/step/data_parallel.hpp"
#include "tests/simulator/reference/data_parallel_devices.hpp"

namespace ddpprof::step {
namespace {

DataParallelStep drawn_step(stats::Random& random, std::int64_t replicas) {
  DataParallelStep step;
  step.replicas = replicas;
  step.parameter_bytes = 1e8 * random.uniform();
  step.input_bytes = 1e6 * random.uniform();
  step.output_bytes = 1e5 * random.uniform();
  step.root_s_per_byte = 1e-10;
  step.to_root_s_per_byte = 2e-10;
  step.own_copy = random.uniform();
  step.copy_overhead_s = 1e-4 * random.uniform();
  step.data_s = 1e-3 * random.uniform();
  step.forward_s = 0.02 * random.uniform();
  step.backward_s = 0.04 * random.uniform();
  step.optimizer_s = 5e-3 * random.uniform();
  return step;
}

TEST(DataParallelDevices, ThatAreAlikeTakeWhatTheClosedFormSays) {
  stats::Random random(8);
  for (const std::int64_t replicas : {1, 2, 3, 8, 64}) {
    const DataParallelStep step = drawn_step(random, replicas);
    const auto result = simulate(step, std::vector<double>(static_cast<std::size_t>(replicas), 1.0));
    const DataParallelResult closed = simulate(step);
    EXPECT_NEAR(result.step_s, closed.step_s, 1e-12) << replicas;
    EXPECT_NEAR(result.root_s, closed.copies_s + step.optimizer_s, 1e-12) << replicas;
    for (const double waiting_s : result.waiting_s) EXPECT_EQ(waiting_s, 0.0);
  }
}

TEST(DataParallelDevices, AllWaitForTheSlowest) {
  stats::Random random(9);
  const DataParallelStep step = drawn_step(random, 4);
  const auto result = simulate(step, {1.0, 1.5, 3.0, 0.5});
  DataParallelStep slow = step;  // as if all were as slow as the third
  slow.forward_s *= 3.0;
  slow.backward_s *= 3.0;
  EXPECT_NEAR(result.step_s, simulate(slow).step_s, 1e-12);
  const double passes_s = step.forward_s + step.backward_s;
  const double expected_s[] = {2.0 * passes_s, 1.5 * passes_s, 0.0, 2.5 * passes_s};
  for (std::size_t device = 0; device < 4; ++device)
    EXPECT_NEAR(result.waiting_s[device], expected_s[device], 1e-12) << device;
}

TEST(DataParallelDevices, DeviceZeroHoldsTheBatchTheOutputsAndTheOptimizer) {
  DataParallelStep step;
  step.replicas = 4;
  step.parameter_bytes = 100e6;
  step.input_bytes = 3e6;
  step.output_bytes = 1e6;
  const DataParallelMemory four = memory(step, 200e6, 50e6);
  EXPECT_DOUBLE_EQ(four.device_0_bytes, 100e6 + 100e6 + 200e6 + 50e6 + 12e6 + 4e6);
  EXPECT_DOUBLE_EQ(four.other_bytes, 100e6 + 100e6 + 50e6 + 3e6 + 1e6);
  step.replicas = 1;
  EXPECT_EQ(memory(step, 200e6, 50e6).other_bytes, 0.0);
  EXPECT_THROW(memory(step, -1.0, 0.0), std::invalid_argument);
}

TEST(DataParallelDevices, RefusesWhatCannotBe) {
  DataParallelStep step;
  step.replicas = 2;
  EXPECT_THROW(simulate(step, {1.0}), std::invalid_argument);
  EXPECT_THROW(simulate(step, {1.0, 0.0}), std::invalid_argument);
  step.forward_s = -1.0;
  EXPECT_THROW(simulate(step, {1.0, 1.0}), std::invalid_argument);
}

}  // namespace
}  // namespace ddpprof::step
