// The value of a larger batch, the linear rule's limits and the time to a target: closed forms and limits.
#include "simulator/learning_rate/large_batch.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "simulator/learning_rate/time_to_target.hpp"

namespace ddpprof::learning_rate {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

stats::Interval band(double low, double mid, double high) { return {low, mid, high, 0.9}; }

// S = S_min (1 + B_crit / B), the law of McCandlish et al. 2018, section 2.3.
struct CriticalBatch {
  double least_steps = 0.0;
  double critical_batch = 0.0;  // in samples
  double least_examples() const { return least_steps * critical_batch; }
  double steps(double batch) const { return least_steps * (1.0 + critical_batch / batch); }
};

// Johnson et al. 2020: r in [1, S]; Pollux: (phi + M0) / (phi + M). phi = 1000, B0 = 100, B = 1000: 1100 / 2000.
TEST(LargeBatch, GainAndEfficiencyAreThePapers) {
  EXPECT_DOUBLE_EQ(statistical_efficiency(1000.0, 100.0, 1000.0), 0.55);
  EXPECT_DOUBLE_EQ(scaling_gain(1000.0, 100.0, 1000.0), 5.5);
  EXPECT_DOUBLE_EQ(scaling_gain(0.0, 100.0, 1000.0), 1.0);
  EXPECT_DOUBLE_EQ(scaling_gain(infinite, 100.0, 1000.0), 10.0);
  EXPECT_DOUBLE_EQ(scaling_gain(1000.0, 100.0, 100.0), 1.0);
  // AdaScale's own form, (sigma^2 + mu^2) / (sigma^2 / S + mu^2) with sigma^2 of a base batch.
  for (const double phi : {3.0, 50.0, 700.0, 1e6})
    for (const double kappa : {1.0, 2.0, 7.0, 64.0}) {
      const double sigma2 = phi / 100.0, mu2 = 1.0;
      const double gain = (sigma2 + mu2) / (sigma2 / kappa + mu2);
      EXPECT_NEAR(scaling_gain(phi, 100.0, 100.0 * kappa), gain, 1e-12 * gain);
      EXPECT_GE(gain, 1.0);
      EXPECT_LE(gain, kappa * (1 + 1e-15));
    }
  EXPECT_THROW(scaling_gain(-1.0, 100.0, 1000.0), std::invalid_argument);
  EXPECT_THROW(scaling_gain(std::nan(""), 100.0, 1000.0), std::invalid_argument);
  EXPECT_THROW(scaling_gain(1.0, 0.0, 1000.0), std::invalid_argument);
  EXPECT_THROW(scaling_gain(1.0, 1.0, infinite), std::invalid_argument);
}

// McCandlish et al. 2018: S = S_min (1 + B_crit / B), E = E_min (1 + B / B_crit); at B_crit twice the least of both.
TEST(LargeBatch, StepsFollowTheCriticalBatch) {
  const CriticalBatch law{1000.0, 512.0};
  EXPECT_DOUBLE_EQ(law.steps(512.0), 2000.0);
  EXPECT_DOUBLE_EQ(law.steps(512.0) * 512.0, 2.0 * law.least_examples());
  for (const double batch : {16.0, 64.0, 512.0, 4096.0})
    EXPECT_NEAR(steps_at_batch(law.steps(32.0), 512.0, 32.0, batch), law.steps(batch), 1e-9);
  const stats::Interval steps = steps_at_batch(1000.0, band(0.0, 100.0, infinite), 100.0, 400.0);
  EXPECT_DOUBLE_EQ(steps.low, 250.0) << "noise alone: as many examples";
  EXPECT_DOUBLE_EQ(steps.mid, 1000.0 / 1.6);
  EXPECT_DOUBLE_EQ(steps.high, 1000.0) << "no noise: as many steps";
  EXPECT_EQ(steps.achieved_confidence, 0.9);
  const stats::Interval more = steps_at_batch(1000.0, band(0.0, 100.0, infinite), 100.0, 50.0);
  EXPECT_DOUBLE_EQ(more.low, 1000.0) << "a smaller batch turns the ends round";
  EXPECT_DOUBLE_EQ(more.high, 2000.0);
}

TEST(LargeBatch, TheCriticalBatchIsWiderThanTheNoiseScale) {
  const stats::Interval critical = critical_batch(band(100.0, 200.0, 300.0));
  EXPECT_DOUBLE_EQ(critical.low, 100.0);
  EXPECT_NEAR(critical.mid * critical.mid, 3.0 * 200.0 * 200.0, 1e-6);
  EXPECT_DOUBLE_EQ(critical.high, 900.0);
  EXPECT_EQ(critical.achieved_confidence, 0.9);
  EXPECT_EQ(critical_batch(band(100.0, 200.0, infinite)).high, infinite);
}

// phi = 1000, B0 = 100: efficiency 0.8 at 1100 / 0.8 - 1000 = 375, 0.5 at phi + 2 B0 = 1200.
TEST(LargeBatch, TheLinearRuleIsDoubtedByItsEfficiency) {
  EXPECT_DOUBLE_EQ(batch_at_efficiency(1000.0, 100.0, amber_efficiency), 375.0);
  EXPECT_DOUBLE_EQ(batch_at_efficiency(1000.0, 100.0, red_efficiency), 1200.0);
  EXPECT_DOUBLE_EQ(statistical_efficiency(1000.0, 100.0, 375.0), 0.8);
  EXPECT_EQ(linear_rule_light(1000.0, 100.0, 370.0), Light::green);
  EXPECT_EQ(linear_rule_light(1000.0, 100.0, 380.0), Light::amber);
  EXPECT_EQ(linear_rule_light(1000.0, 100.0, 1190.0), Light::amber);
  EXPECT_EQ(linear_rule_light(1000.0, 100.0, 1210.0), Light::red);
  EXPECT_EQ(linear_rule_light(infinite, 100.0, 1e9), Light::green);
  const WorkerLimits red = workers_at_efficiency(band(0.0, 1000.0, infinite), 100.0, 100.0, red_efficiency);
  EXPECT_EQ(red, (WorkerLimits{1, 11, most_workers})) << "2 and 12 workers have an efficiency of 0.5: red";
  const WorkerLimits none = workers_at_efficiency(band(0.0, 0.0, 0.0), 100.0, 300.0, red_efficiency);
  EXPECT_EQ(none, WorkerLimits{}) << "one worker's batch is three times the base's";
  EXPECT_THROW(batch_at_efficiency(1000.0, 100.0, 0.0), std::invalid_argument);
}

// The rate a quadratic bowl likes best is e(B) = e_max / (1 + phi / B): the linear rule's is 1 / efficiency of it.
TEST(LargeBatch, AtTheRedLightTheLinearRateIsTwiceTheBest) {
  const double phi = 1000.0, base = 100.0;
  const auto best = [&](double batch) { return 1.0 / (1.0 + phi / batch); };
  const double amber = batch_at_efficiency(phi, base, amber_efficiency),
               red = batch_at_efficiency(phi, base, red_efficiency);
  EXPECT_NEAR(best(base) * red / base / best(red), 2.0, 1e-12);
  EXPECT_NEAR(best(base) * amber / base / best(amber), 1.25, 1e-12);
}

Machine machine(std::int64_t workers, double step_s) {
  return {workers,
          100.0 * static_cast<double>(workers),
          {0.9 * step_s, step_s, 1.2 * step_s, 0.9},
          static_cast<double>(workers)};
}

// phi = 300, B0 = 100 at N = 1: r = N (400) / (300 + 100 N): 1, 1.6, 2.2857, 3.2; steps 1000 / r.
TEST(TimeToTarget, IsStepsTimesTheStepAndWhatItCosts) {
  const Target target{1000.0, 100.0, band(100.0, 300.0, 900.0), 2.0};
  const Machine machines[] = {machine(1, 3.6), machine(2, 3.6)};
  const auto times = times_to_target(target, machines);
  ASSERT_EQ(times.size(), 2U);
  EXPECT_DOUBLE_EQ(times[0].steps.mid, 1000.0);
  EXPECT_DOUBLE_EQ(times[0].time_s.mid, 3600.0);
  EXPECT_DOUBLE_EQ(times[0].gpu_hours.mid, 1.0);
  EXPECT_DOUBLE_EQ(times[0].cost.mid, 2.0);
  EXPECT_DOUBLE_EQ(times[1].steps.mid, 625.0);
  EXPECT_DOUBLE_EQ(times[1].examples.mid, 125'000.0);
  EXPECT_DOUBLE_EQ(times[1].cost.mid, 2.0 * 2.0 * 625.0 / 1000.0);
  EXPECT_DOUBLE_EQ(times[1].steps.high, 1000.0 / (2.0 * 200.0 / 300.0));
  EXPECT_DOUBLE_EQ(times[1].time_s.high, times[1].steps.high * 3.6 * 1.2);
  EXPECT_DOUBLE_EQ(times[1].time_s.low, 1000.0 / (2.0 * 1000.0 / 1100.0) * 3.6 * 0.9);
  EXPECT_EQ(times[1].time_s.achieved_confidence, 0.9);
}

// A step that does not grow with N: more workers are always faster and, past the noise, never cheaper.
TEST(TimeToTarget, TheBestWorkersDependOnWhatIsAskedAndOnTheNoise) {
  std::vector<Machine> machines;
  for (const std::int64_t workers : {1, 2, 4, 8, 16, 32})
    machines.push_back(machine(workers, 1.0 + 0.05 * static_cast<double>(workers)));
  // T = (1 + 0.05 N)(phi + 100 N) / N: least at N = sqrt(phi / 5) = 7.7 for phi 300; 4.5 for 100; 31.6 for 5000.
  const Target target{1000.0, 100.0, band(100.0, 300.0, 5000.0), 0.0};
  EXPECT_EQ(best_workers(target, machines, Aim::time), (BestWorkers{8, 4, 32}));
  EXPECT_EQ(best_workers(target, machines, Aim::money), (BestWorkers{1, 1, 1})) << "each GPU-hour is worth less";
  const Machine alike[] = {machine(4, 1.0), machine(2, 1.0)};
  const Target no_noise{1000.0, 100.0, band(0.0, 0.0, 0.0), 0.0};
  EXPECT_EQ(best_workers(no_noise, alike, Aim::time), (BestWorkers{2, 2, 2})) << "equal: the fewest";
  EXPECT_EQ(best_workers(target, {}, Aim::time), std::nullopt);
}

TEST(TimeToTarget, RefusesWhatCannotBe) {
  const Machine good[] = {machine(1, 1.0)};
  Machine stopped = good[0], free = good[0], crossed = good[0];
  stopped.step_s.low = 0.0;
  free.gpus = 0.0;
  crossed.step_s.high = 0.5;
  const Target target{1000.0, 100.0, band(100.0, 300.0, 900.0), 0.0};
  EXPECT_THROW(times_to_target(target, {&stopped, 1}), std::invalid_argument);
  EXPECT_THROW(times_to_target(target, {&free, 1}), std::invalid_argument);
  EXPECT_THROW(best_workers(target, {&crossed, 1}, Aim::time), std::invalid_argument);
  EXPECT_THROW(times_to_target({0.0, 100.0, band(1.0, 2.0, 3.0), 0.0}, good), std::invalid_argument);
  EXPECT_THROW(times_to_target({1.0, 100.0, band(1.0, 2.0, 3.0), -1.0}, good), std::invalid_argument);
  EXPECT_THROW(times_to_target({1.0, 100.0, band(3.0, 2.0, 1.0), 0.0}, good), std::invalid_argument);
}

}  // namespace
}  // namespace ddpprof::learning_rate
