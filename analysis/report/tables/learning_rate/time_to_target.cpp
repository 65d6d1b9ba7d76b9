#include <fmt/format.h>
#include <algorithm>
#include <cmath>

#include "analysis/report/core/columns.hpp"
#include "analysis/report/tables/learning_rate/time_to_target.hpp"
#include "simulator/learning_rate/linear_rule.hpp"
#include "simulator/units/units.hpp"

namespace ddpprof::report {
namespace {

constexpr const char* no_losses =
    "Cannot give a time to a target: this file has no 10 consecutive steps with a loss. Measure 10 or more steps with "
    "ddpprof run (measure.steps). In your own program, mark the loss in each step (NVTX mark “loss”, a float64).";

std::string text_of(double loss) { return units::format_quantity(loss, "", 4); }

double ratio(std::int64_t a, std::int64_t b) {
  return std::abs(std::log(static_cast<double>(a) / static_cast<double>(b)));
}

struct Reached {
  const metrics::LossCurve* curve;
  metrics::StepRange steps;
};

// The first mean covers 10 steps. A target reached there may have been reached at any earlier step, or at the start.
bool from_the_first(const metrics::StepRange& steps) { return steps.low <= metrics::loss_window_steps; }

// Returns the number of steps with as many samples as an epoch; batches of the worker continue across epochs.
double epoch_steps(const fit::LearningRateOptions& options, std::int64_t workers, std::int64_t samples_per_worker) {
  const std::int64_t own = learning_rate::samples_of_worker(options.samples, workers, options.drop_last);
  return static_cast<double>(std::max<std::int64_t>(1, own)) / static_cast<double>(samples_per_worker);
}

TargetTime measured_time(const fit::LearningRateOptions& options, const metrics::LossCurve& curve, double target) {
  TargetTime time;
  time.strategy = curve.strategy;
  time.workers = curve.workers;
  time.global_batch = curve.global_batch();
  time.basis = TargetTime::Basis::measured;
  time.epoch_steps = epoch_steps(options, curve.workers, curve.samples_per_worker);
  time.steps = metrics::steps_to(curve, target);
  if (!time.steps) {
    const auto at = [&](const metrics::Losses& one) { return metrics::steps_to(one, target).has_value(); };
    const auto did = std::count_if(curve.repeats.begin(), curve.repeats.end(), at);
    const std::optional<double> lowest = curve.lowest();
    time.note = lowest
                    ? fmt::format("{} of {} repeats reached the target; the lowest loss that all repeats reached is {}",
                                  did, curve.repeats.size(), text_of(*lowest))
                    : std::string("a repeat has no 10 consecutive steps with a loss");
    return time;
  }
  time.step_low_s = time.step_high_s = curve.step_s;
  if (from_the_first(*time.steps))
    time.note = "reached within the first 10 steps: the target is not below the initial loss";
  return time;
}

// Ties go to the larger batch, whose loss is less noisy.
const Reached* nearest(std::span<const Reached> reached, const std::string& strategy, std::int64_t batch) {
  const Reached* found = nullptr;
  for (const Reached& one : reached) {
    if (one.curve->strategy != strategy || from_the_first(one.steps)) continue;
    const double away = ratio(one.curve->global_batch(), batch);
    const double before = found == nullptr ? INFINITY : ratio(found->curve->global_batch(), batch);
    if (away < before || (away == before && one.curve->global_batch() > found->curve->global_batch())) found = &one;
  }
  return found;
}

TargetTime asked_time(const fit::LearningRateOptions& options, const TrainingTime& asked,
                      std::span<const Reached> reached) {
  TargetTime time;
  time.strategy = asked.strategy;
  time.workers = asked.workers;
  time.global_batch = learning_rate::global_batch(asked.workers, options.samples_per_worker);
  const Reached* from = nearest(reached, asked.strategy, time.global_batch);
  if (from == nullptr) {
    const bool trivial = std::any_of(reached.begin(), reached.end(),
                                     [&](const Reached& one) { return one.curve->strategy == asked.strategy; });
    time.note = trivial ? fmt::format("no bounds: the target is reached within the first {} steps; give a lower loss",
                                      metrics::loss_window_steps)
                        : fmt::format(
                              "no measured configuration of {} reached the target: measure more steps (measure.steps), "
                              "or give a higher loss",
                              asked.strategy);
    return time;
  }
  time.basis = TargetTime::Basis::bounds;
  time.from_workers = from->curve->workers;
  time.epoch_steps = epoch_steps(options, asked.workers, options.samples_per_worker);
  time.steps = metrics::steps_at(from->steps, from->curve->global_batch(), time.global_batch);
  if (asked.step_s > 0.0) {
    time.step_low_s = asked.step_low_s;
    time.step_high_s = asked.step_high_s;
  } else {
    time.note = "no time because the predicted step is missing: " + asked.note;
  }
  return time;
}

Row row_of(const TargetTime& time, double target) {
  Row row{time.strategy, time.workers, target, basis_text(time), time.global_batch};
  if (!time.steps) {
    row.resize(row.size() + 6);
  } else {
    const auto low = static_cast<double>(time.steps->low), high = static_cast<double>(time.steps->high);
    row.insert(row.end(), {time.steps->low, time.steps->high, low / time.epoch_steps, high / time.epoch_steps});
    if (time.step_low_s > 0.0)
      row.insert(row.end(), {low * time.step_low_s, high * time.step_high_s});
    else
      row.insert(row.end(), {Cell(), Cell()});
  }
  row.emplace_back(time.note);
  return row;
}

}  // namespace

std::string basis_text(const TargetTime& time) {
  switch (time.basis) {
    case TargetTime::Basis::measured:
      return "measured";
    case TargetTime::Basis::bounds:
      return fmt::format("bounds from N = {}", time.from_workers);
    case TargetTime::Basis::unknown:
      break;
  }
  return "not known";
}

std::vector<TargetTime> target_times(const fit::LearningRateOptions& options, const metrics::LossCurves& losses,
                                     std::span<const TrainingTime> asked, double target) {
  const std::vector<metrics::LossCurve>& curves = losses.curves;
  std::vector<TargetTime> times;
  std::vector<Reached> reached;
  for (const metrics::LossCurve& curve : curves) {
    times.push_back(measured_time(options, curve, target));
    if (times.back().steps) reached.push_back({&curve, *times.back().steps});
  }
  for (const TrainingTime& one : asked) {
    const auto measured = [&](const metrics::LossCurve& curve) {
      return curve.strategy == one.strategy && curve.workers == one.workers &&
             curve.samples_per_worker == options.samples_per_worker;
    };
    if (std::none_of(curves.begin(), curves.end(), measured)) times.push_back(asked_time(options, one, reached));
  }
  return times;
}

Table time_to_target_table(const fit::LearningRateOptions& options, const metrics::LossCurves& losses,
                           std::span<const TrainingTime> asked, std::optional<double> target) {
  const std::vector<metrics::LossCurve>& curves = losses.curves;
  Table table;
  table.name = "time_to_target";
  table.title = "Time to a target loss";
  table.empty = no_losses;
  table.columns = {text("strategy", "strategy"),
                   count("workers", "N", "workers"),
                   quantity("target_loss", "loss", ""),
                   text("basis", "basis"),
                   count("global_batch_samples", "global batch", "samples"),
                   count("steps_low", "from", "steps"),
                   count("steps_high", "to", "steps"),
                   digits(quantity("epochs_low", "from", "epochs"), 3),
                   digits(quantity("epochs_high", "to", "epochs"), 3),
                   digits(seconds("time_low_s", "from"), 4),
                   digits(seconds("time_high_s", "to", "time_low_s"), 4),
                   prose("note", "note")};
  table.columns[2].hide_constant = true;  // shown in the title
  table.key_columns = 2;
  if (!target) target = metrics::default_target(curves);
  if (curves.empty() || !target) return table;
  table.title = fmt::format("Time to a loss of {}", text_of(*target));
  table.note = fmt::format(
      "Target: the mean loss of the last {} steps (so up to {} steps late) is {} or less. Measured: fewest and most "
      "steps over the repeats, counted from the initial weights of the measurement, including warm-up steps. Time = "
      "steps × median measured step; steps that are slower than the median add to it. {} Other N: bounds, with the "
      "predicted step and its interval. One bound is the measured number of samples, which is the best case for a "
      "larger batch, up to the gradient noise scale (McCandlish et al. 2018). The other bound is the measured number "
      "of steps, if a larger batch has no benefit (Shallue et al. 2019). Both bounds assume a learning rate tuned for "
      "each batch. They apply to the expected loss: a noisy loss may reach the target earlier by chance. No bound is "
      "below {} steps, the length of the first mean. To narrow the bounds, measure the training to the target at that "
      "batch.",
      metrics::loss_window_steps, metrics::loss_window_steps - 1, text_of(*target),
      options.applied ? "Every N was trained with the scenario's schedule."
                      : "Every N was trained with the base rate, which was not scaled to its batch.",
      metrics::loss_window_steps);
  if (losses.left_out > 0)
    table.note += fmt::format(
        " Left out: {} measured configuration{} with a model, precision or device that predictions do not use.",
        losses.left_out, losses.left_out == 1 ? "" : "s");
  for (const TargetTime& time : target_times(options, losses, asked, *target))
    table.rows.push_back(row_of(time, *target));
  return table;
}

}  // namespace ddpprof::report
