// How long a training takes to reach a target on N workers, what it costs, and which N is best.
//
// T(N) = S(N b) T_step(N): steps from trainings at other batches (samples_to_target.hpp) or from the gradient noise
// scale (large_batch.hpp), the step's time from the simulator. More workers shorten the step's work for each sample,
// but past the noise scale the steps stop falling.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "simulator/learning_rate/samples_to_target.hpp"
#include "simulator/stats/interval.hpp"

namespace ddpprof::learning_rate {

struct Machine {
  std::int64_t workers = 1;
  double batch = 1.0;  // global, in samples
  stats::Interval step_s;
  double gpus = 1.0;  // that are paid for, idle ones of a rented node included
};

// Values that were measured or assumed.
struct Target {
  double base_steps = 1.0;  // to the target at the base batch
  double base_batch = 1.0;  // in samples
  stats::Interval noise_scale_samples;
  double price_per_gpu_hour = 0.0;  // in any currency; 0: not known
  // Trainings that reached the target. If there are any, the steps come from them, and base_steps, base_batch and
  // noise_scale_samples are not used.
  std::vector<BatchSamples> measured = {};
};

struct TargetTime {
  std::int64_t workers = 1;
  stats::Interval steps, examples, time_s, gpu_hours, cost;  // cost is 0 without a price
};

// In the machines' order. Each low end is the few steps at the short step, each high end the many at the long one:
// wider than either alone, since nothing says that the two errors cancel. Throws std::invalid_argument on a step, GPUs
// or base steps that are not above 0, ends that are not in order, a price below 0, and as large_batch.hpp and
// samples_to_target.hpp.
std::vector<TargetTime> times_to_target(const Target&, std::span<const Machine>);

// The best N for what is asked, at the middle and at either end of the number of steps, with the middle of the step's
// time: where they differ, the number of steps is not known well enough to choose. A low noise scale means most steps
// at a large batch. The fewest workers where several are equal.
struct BestWorkers {
  std::int64_t mid = 0, at_low_noise = 0, at_high_noise = 0;
  bool operator==(const BestWorkers&) const = default;
};
enum class Aim { time, money };  // money: GPU-hours, in whatever currency
// Nothing without machines. Throws as times_to_target.
std::optional<BestWorkers> best_workers(const Target&, std::span<const Machine>, Aim);

}  // namespace ddpprof::learning_rate
