#include "simulator/learning_rate/time_to_target.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "simulator/learning_rate/large_batch.hpp"
#include "simulator/learning_rate/learned_target.hpp"

namespace ddpprof::learning_rate {
namespace {

using stats::Interval;

[[noreturn]] void refuse(const std::string& what, double value, const char* expected) {
  throw std::invalid_argument("time to target: " + what + " is " + std::to_string(value) + ", expected " + expected);
}

void ordered(const Interval& interval, const char* of) {
  if (!(interval.low <= interval.mid && interval.mid <= interval.high))
    throw std::invalid_argument(std::string("time to target: the ends of ") + of +
                                " are not in order: " + std::to_string(interval.low) + ", " +
                                std::to_string(interval.mid) + ", " + std::to_string(interval.high));
}

void check(const Target& target, std::span<const Machine> machines) {
  if (!(target.price_per_gpu_hour >= 0.0) || !std::isfinite(target.price_per_gpu_hour))
    refuse("the price of a GPU-hour", target.price_per_gpu_hour, "0 or more");
  ordered(target.noise_scale_samples, "the noise scale");
  for (const Machine& machine : machines) {
    const std::string at = " at N = " + std::to_string(machine.workers);
    if (machine.workers < 1) refuse("N", static_cast<double>(machine.workers), "1 or more");
    if (!(machine.step_s.low > 0.0)) refuse("the step's time" + at, machine.step_s.low, "more than 0 s");
    if (!(machine.gpus > 0.0) || !std::isfinite(machine.gpus)) refuse("GPUs" + at, machine.gpus, "more than 0");
    ordered(machine.step_s, "the step's time");
  }
}

Interval scaled(const Interval& interval, double by) {
  return {interval.low * by, interval.mid * by, interval.high * by, interval.achieved_confidence};
}

constexpr double samples_confidence = 0.9;

Interval steps_of(const Target& target, double batch) {
  if (target.measured.empty())
    return steps_at_batch(target.base_steps, target.noise_scale_samples, target.base_batch, batch);
  return scaled(samples_to_target(target.measured, batch, learned_target, samples_confidence), 1.0 / batch);
}

}  // namespace

std::vector<TargetTime> times_to_target(const Target& target, std::span<const Machine> machines) {
  check(target, machines);
  std::vector<TargetTime> times;
  for (const Machine& machine : machines) {
    TargetTime one;
    one.workers = machine.workers;
    one.steps = steps_of(target, machine.batch);
    one.examples = scaled(one.steps, machine.batch);
    one.time_s = {one.steps.low * machine.step_s.low, one.steps.mid * machine.step_s.mid,
                  one.steps.high * machine.step_s.high,
                  std::min(one.steps.achieved_confidence, machine.step_s.achieved_confidence)};
    one.gpu_hours = scaled(one.time_s, machine.gpus / 3600.0);
    one.cost = scaled(one.gpu_hours, target.price_per_gpu_hour);
    times.push_back(one);
  }
  return times;
}

std::optional<BestWorkers> best_workers(const Target& target, std::span<const Machine> machines, Aim aim) {
  check(target, machines);
  if (machines.empty()) return std::nullopt;
  std::vector<Interval> steps;
  for (const Machine& machine : machines) steps.push_back(steps_of(target, machine.batch));
  const auto best = [&](const auto& steps_at) {
    const Machine* first = nullptr;
    double least = 0.0;
    for (std::size_t i = 0; i < machines.size(); ++i) {
      const Machine& machine = machines[i];
      const double time_s = steps_at(i) * machine.step_s.mid;
      const double value = aim == Aim::time ? time_s : time_s * machine.gpus;
      const bool better = first == nullptr || value < least || (value == least && machine.workers < first->workers);
      if (!better) continue;
      first = &machine;
      least = value;
    }
    return first->workers;
  };
  // Below the base batch, a low noise scale means fewest steps.
  const auto most_steps = [&](std::size_t i) {
    return target.measured.empty() && machines[i].batch < target.base_batch ? steps[i].low : steps[i].high;
  };
  const auto fewest_steps = [&](std::size_t i) {
    return target.measured.empty() && machines[i].batch < target.base_batch ? steps[i].high : steps[i].low;
  };
  return BestWorkers{best([&](std::size_t i) { return steps[i].mid; }), best(most_steps), best(fewest_steps)};
}

}  // namespace ddpprof::learning_rate
