// Loss of each measured configuration by step, the steps until a target loss, and bounds for other N.
//
// The loss of one step is noisy, so the mean over the last 10 steps is compared with the target. At a larger global batch
// the number of samples to a target is equal or larger, and the number of steps is equal or smaller: up to the gradient
// noise scale a larger batch saves steps in proportion, beyond it nothing (McCandlish et al. 2018, "An Empirical Model of
// Large-Batch Training", section 2; Shallue et al. 2019, "Measuring the Effects of Data Parallelism on Neural Network
// Training", section 4). Both bounds assume a learning rate tuned for each batch.
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

// The losses of one repeat by optimizer step. Warm-up steps are included, because they train. Steps without the DDP
// wrapper, which follow the last measured step, are not included. Empty if a rank did not record its loss.
using Losses = std::vector<std::optional<double>>;
// Returns for each step the mean of this step and the nine before it; empty if one of the ten is unknown.
Losses smoothed(const Losses&);
// Returns the number of optimizer steps until the smoothed loss is first at or below `target`.
std::optional<std::int64_t> steps_to(const Losses& smoothed_losses, double target);

// One measured configuration.
struct LossCurve {
  std::string strategy;
  std::int64_t workers = 1, samples_per_worker = 0;  // samples_per_worker: per optimizer step
  double step_s = 0.0;                               // median measured step; 0 if unknown
  std::vector<Losses> repeats;                       // smoothed

  std::int64_t global_batch() const { return workers * samples_per_worker; }
  std::optional<double> lowest() const;  // lowest loss that every repeat reached
};
// Curves with the model, precision and device that the fitted models use (of_models_workload), at any batch.
struct LossCurves {
  std::vector<LossCurve> curves;
  std::int64_t left_out = 0;  // configurations with losses of other workloads
};
LossCurves loss_curves(const std::vector<Configuration>&);
LossCurves loss_curves(store::Database&);  // throws store::DatabaseError

// Returns the lowest smoothed loss that every repeat of every configuration reached; empty without losses.
std::optional<double> default_target(std::span<const LossCurve>);

struct StepRange {
  std::int64_t low = 0, high = 0;
  bool operator==(const StepRange&) const = default;
};
// Returns the range over the repeats; empty unless all repeats reached the target.
std::optional<StepRange> steps_to(const LossCurve&, double target);
// Returns bounds of the steps at another global batch: the measured number of samples (best case of a larger batch) and
// the measured number of steps (no benefit of a larger batch). Never below the length of the mean.
StepRange steps_at(const StepRange& measured, std::int64_t measured_batch, std::int64_t batch);

}  // namespace ddpprof::metrics
