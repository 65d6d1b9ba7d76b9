#include "analysis/report/tables/learning_rate/target_cost.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "analysis/predict/learning_rate.hpp"
#include "analysis/report/core/columns.hpp"
#include "simulator/learning_rate/large_batch.hpp"
#include "simulator/learning_rate/time_to_target.hpp"
#include "simulator/units/units.hpp"

namespace ddpprof::report {
namespace {

using learning_rate::Aim;
using learning_rate::BestWorkers;
using learning_rate::Machine;

std::int64_t divide_up(std::int64_t value, std::int64_t by) { return (value + by - 1) / by; }

Machine machine_of(const fit::LearningRateOptions& options, const TrainingTime& time, std::int64_t gpus_per_node) {
  Machine machine;
  machine.workers = time.workers;
  machine.batch = static_cast<double>(learning_rate::global_batch(time.workers, options.samples_per_worker));
  machine.step_s = {time.step_low_s, time.step_s, time.step_high_s, time.confidence};
  const std::int64_t rented = gpus_per_node > 0 ? divide_up(time.workers, gpus_per_node) * gpus_per_node : time.workers;
  machine.gpus = static_cast<double>(rented);
  return machine;
}

std::string best_text(const BestWorkers& best) {
  const auto [low, high] = std::minmax(best.at_low_noise, best.at_high_noise);
  return low == high && low == best.mid ? fmt::format("N = {}", best.mid)
                                        : fmt::format("N = {} ({} to {})", best.mid, low, high);
}

// Beyond this many times the largest measured batch, the number of samples was predicted worse than by a constant
// (docs/internals/validation.md, large_batch).
constexpr double far_batch = 8.0;

std::string steps_text(const learning_rate::Target& target,
                       const std::map<std::string, std::vector<Machine>>& machines) {
  if (target.measured.empty())
    return fmt::format(
        "A target that takes {} steps at the base batch of {} takes fewer steps at a larger batch: S = S_min (1 + φ_c "
        "/ "
        "B) (McCandlish et al. 2018; φ_c as in the table of larger batches). Assumptions: every N uses a learning rate "
        "that suits its batch, and the noise scale is constant; in a training it grows.",
        target.base_steps, units::format_quantity(target.base_batch, "", 6));
  std::string batches;
  double largest = 0.0;
  for (const learning_rate::BatchSamples& one : target.measured) {
    batches += (batches.empty() ? "" : ", ") + units::format_quantity(one.batch, "", 6);
    largest = std::max(largest, one.batch);
  }
  std::string text = fmt::format(
      "Samples to the target were measured at the batch{} {}. At other batches: E = E_min (1 + B / B_crit) (McCandlish "
      "et "
      "al. 2018), with a B_crit that these measurements and other published trainings allow, and a 90 % interval. "
      "Assumption: every N uses a learning rate that is tuned for its batch.",
      target.measured.size() == 1 ? "" : "es", batches);
  std::string far;
  for (const auto& [strategy, all] : machines)
    for (const Machine& machine : all)
      if (far.empty() && machine.batch > far_batch * largest) far = fmt::format("N = {}", machine.workers);
  if (!far.empty())
    text += fmt::format(
        " From {} on, the batch is more than {:.0f} times the largest measured batch: use the interval, not the "
        "middle.",
        far, far_batch);
  return text;
}

}  // namespace

std::int64_t base_training_steps(const fit::LearningRateOptions& options) {
  return learning_rate::base_schedule(fit::plan_of(options, 1)).total_steps;
}

Table target_cost_table(const fit::LearningRateOptions& options, std::span<const TrainingTime> times,
                        const TargetQuestion& question) {
  Table table;
  table.name = "target_cost";
  table.title = "Time and cost of the same result";
  table.empty = "Cannot give times: predicted steps are missing. Measure steps with: ddpprof run SCENARIO.yaml";
  if (!times.empty() && !times.front().note.empty()) table.empty = "Cannot give times: " + times.front().note;
  learning_rate::Target target;
  target.base_batch = static_cast<double>(options.base_batch());
  const std::int64_t steps = question.base_steps.value_or(base_training_steps(options));
  target.base_steps = static_cast<double>(steps);
  target.noise_scale_samples = learning_rate::critical_batch(question.noise_scale_samples);
  target.price_per_gpu_hour = question.price_per_gpu_hour;
  target.measured = question.measured;

  std::map<std::string, std::vector<Machine>> machines;
  for (const TrainingTime& time : times)
    if (time.step_s > 0.0 && time.step_low_s > 0.0)
      machines[time.strategy].push_back(machine_of(options, time, question.gpus_per_node));
  table.note = fmt::format(
      "{} Time = steps × predicted median step. Low: fewest steps at the shortest step. High: most steps at the "
      "longest "
      "step. GPU-hours: of {}.",
      steps_text(target, machines),
      question.gpus_per_node > 0 ? fmt::format("whole nodes of {}", question.gpus_per_node)
                                 : std::string("one GPU (or one CPU process) per worker"));
  for (const auto& [strategy, all] : machines) {
    table.note += fmt::format(" Lowest time, {}: {}", strategy, best_text(*best_workers(target, all, Aim::time)));
    table.note += fmt::format("; lowest cost: {}.", best_text(*best_workers(target, all, Aim::money)));
  }
  table.columns = {text("strategy", "strategy", true),
                   count("workers", "N", "workers"),
                   count("global_batch_samples", "global batch", "samples"),
                   digits(quantity("steps", "steps", ""), 4),
                   digits(quantity("steps_low", "low", ""), 4),
                   digits(quantity("steps_high", "high", ""), 4),
                   digits(quantity("epochs", "epochs", ""), 3),
                   digits(seconds("time_s", "time"), 4),
                   digits(seconds("time_low_s", "low", "time_s"), 4),
                   digits(seconds("time_high_s", "high", "time_s"), 4),
                   digits(quantity("gpu_hours", "GPU-hours", ""), 4),
                   digits(quantity("gpu_hours_low", "low", ""), 4),
                   digits(quantity("gpu_hours_high", "high", ""), 4),
                   digits(quantity("cost", "cost", ""), 4)};
  table.columns.back().hide_zero = true;
  table.key_columns = 2;
  for (const auto& [strategy, all] : machines) {
    const auto found = times_to_target(target, all);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const learning_rate::TargetTime& one = found[i];
      const double epochs = one.examples.mid / static_cast<double>(options.samples);
      const auto batch = static_cast<std::int64_t>(all[i].batch);
      table.rows.push_back({strategy, one.workers, batch, one.steps.mid, one.steps.low, one.steps.high,
                            question.epoch_known ? Cell(epochs) : Cell(),
                            one.time_s.mid, one.time_s.low, one.time_s.high, one.gpu_hours.mid, one.gpu_hours.low,
                            one.gpu_hours.high,
                            question.price_per_gpu_hour > 0.0 ? Cell(one.cost.mid) : Cell()});
    }
  }
  return table;
}

}  // namespace ddpprof::report
