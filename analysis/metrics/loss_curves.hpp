// When the recorded loss reached a target, at each measured configuration, and what that allows to say of another N.
//
// A step's loss is noisy: what has to reach the target is its mean over the last 10 steps. At another global batch the
// samples to a target are at least as many as at a smaller one, the steps at most as many: up to the gradient's noise
// scale a larger batch saves steps in proportion, beyond it nothing (McCandlish et al. 2018, "An Empirical Model of
// Large-Batch Training", section 2; Shallue et al. 2019, "Measuring the Effects of Data Parallelism on Neural Network
// Training", section 4). Both hold for a learning rate tuned at each batch.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/metrics/measured.hpp"

namespace ddpprof::store {
class Database;
}

namespace ddpprof::metrics {

inline constexpr std::int64_t loss_window_steps = 10;

// One repeat's loss, by optimizer step from the training's beginning; warm-up steps train as well, those without the
// DDP wrapper and the warm-up of those come after the last measured one and do not count. Nothing where the step's loss
// is not known on every rank.
using Losses = std::vector<std::optional<double>>;
// The mean of each step and the nine before it; nothing where one of the ten is not known.
Losses smoothed(const Losses&);
// Optimizer steps taken when the smoothed loss is first at or below `target`.
std::optional<std::int64_t> steps_to(const Losses& smoothed_losses, double target);

// One measured configuration.
struct LossCurve {
  std::string strategy;
  std::int64_t workers = 1, samples_per_worker = 0;  // of one optimizer step
  double step_s = 0.0;                               // median measured step; 0 where there is none
  std::vector<Losses> repeats;                       // smoothed

  std::int64_t global_batch() const { return workers * samples_per_worker; }
  std::optional<double> lowest() const;  // that every repeat reached
};
// Of one model, precision and device, those that the fitted models rest on (of_models_workload), at any batch: losses
// of others say nothing of it.
struct LossCurves {
  std::vector<LossCurve> curves;
  std::int64_t left_out = 0;  // configurations with losses, of other workloads
};
LossCurves loss_curves(const std::vector<Configuration>&);
LossCurves loss_curves(store::Database&);  // of its configurations; throws store::DatabaseError

// The lowest smoothed loss that every repeat of every configuration with losses reached; nothing without losses.
std::optional<double> default_target(std::span<const LossCurve>);

struct StepRange {
  std::int64_t low = 0, high = 0;
  bool operator==(const StepRange&) const = default;
};
// Over the repeats; nothing unless all of them reached it.
std::optional<StepRange> steps_to(const LossCurve&, double target);
// Steps at another global batch. One end: as many samples as measured (ideal for a larger batch); the other: as many
// steps as measured (a larger batch gives nothing). Not below the steps that one mean takes.
StepRange steps_at(const StepRange& measured, std::int64_t measured_batch, std::int64_t batch);

}  // namespace ddpprof::metrics
