#include "analysis/metrics/loss_curves.hpp"

#include <SQLiteCpp/Exception.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "analysis/report/core/columns.hpp"
#include "simulator/units/units.hpp"
#include "simulator/learning_rate/linear_rule.hpp"
#include "simulator/stats/summary.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof::report {
namespace {

constexpr const char* no_losses =
    "No time to a target: this file has no loss of 10 steps on end. Measure with ddpprof run, 10 steps or more "
    "(measure.steps); a program of your own has to mark its loss in each step (NVTX mark “loss”, a float64).";

std::string text_of(double loss) { return format_quantity(loss, "", 4); }

double ratio(std::int64_t a, std::int64_t b) {
  return std::abs(std::log(static_cast<double>(a) / static_cast<double>(b)));
}

struct Reached {
  const LossCurve* curve;
  StepRange steps;
};

// The first mean is of 10 steps: what is reached there may have been reached at any step before, or from the beginning.
bool from_the_first(const StepRange& steps) { return steps.low <= loss_window_steps; }

// Steps, epochs and seconds of a range; `low_s`, `high_s`: of one step.
void append(Row& row, const StepRange& steps, double an_epoch, double low_s, double high_s) {
  row.insert(row.end(), {steps.low, steps.high, static_cast<double>(steps.low) / an_epoch,
                         static_cast<double>(steps.high) / an_epoch});
  if (low_s > 0.0) {
    row.insert(row.end(), {static_cast<double>(steps.low) * low_s, static_cast<double>(steps.high) * high_s});
  } else {
    row.insert(row.end(), {Cell(), Cell()});
  }
}

// Steps that take as many samples as an epoch has: the worker's batches go on from one epoch into the next.
double epoch_steps(const fit::LearningRateOptions& options, std::int64_t workers, std::int64_t samples_per_worker) {
  const std::int64_t own = learning_rate::samples_of_worker(options.samples, workers, options.drop_last);
  return static_cast<double>(std::max<std::int64_t>(1, own)) / static_cast<double>(samples_per_worker);
}

Row measured_row(const fit::LearningRateOptions& options, const LossCurve& curve, double target) {
  Row row{curve.strategy, curve.workers, target, std::string("measured"), curve.global_batch()};
  const double an_epoch = epoch_steps(options, curve.workers, curve.samples_per_worker);
  const auto steps = steps_to(curve, target);
  if (!steps) {
    row.resize(row.size() + 6);
    const auto at = [&](const Losses& one) { return steps_to(one, target).has_value(); };
    const auto did = std::count_if(curve.repeats.begin(), curve.repeats.end(), at);
    const std::optional<double> lowest = curve.lowest();
    std::string why = lowest ? fmt::format("not reached: {} of {} repeats did; all of them came to {}", did,
                                           curve.repeats.size(), text_of(*lowest))
                             : std::string("a repeat has no loss of 10 steps on end");
    row.emplace_back(std::move(why));
    return row;
  }
  append(row, *steps, an_epoch, curve.step_s, curve.step_s);
  row.emplace_back(
      from_the_first(*steps) ? "reached by the first 10 steps: the target is not below where the loss began" : "");
  return row;
}

// Of several at the same distance the larger batch: less is left to chance there.
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

Row asked_row(const fit::LearningRateOptions& options, const TrainingTime& asked, std::span<const Reached> reached,
              double target) {
  const std::int64_t batch = learning_rate::global_batch(asked.workers, options.samples_per_worker);
  const Reached* from = nearest(reached, asked.strategy, batch);
  if (from == nullptr) {
    const bool trivial = std::any_of(reached.begin(), reached.end(),
                                     [&](const Reached& one) { return one.curve->strategy == asked.strategy; });
    return {asked.strategy,
            asked.workers,
            target,
            std::string("not known"),
            batch,
            Cell(),
            Cell(),
            Cell(),
            Cell(),
            Cell(),
            Cell(),
            trivial ? fmt::format("no bounds from a target that is reached by the first {} steps: ask for a lower loss",
                                  loss_window_steps)
                    : fmt::format("needs a measured configuration of {} that reached the target: measure more steps "
                                  "(measure.steps), or ask for a higher loss",
                                  asked.strategy)};
  }
  Row row{asked.strategy, asked.workers, target, fmt::format("bounds from N = {}", from->curve->workers), batch};
  const double an_epoch = epoch_steps(options, asked.workers, options.samples_per_worker);
  const bool timed = asked.step_s > 0.0;
  append(row, steps_at(from->steps, from->curve->global_batch(), batch), an_epoch, timed ? asked.step_low_s : 0.0,
         asked.step_high_s);
  row.emplace_back(timed ? "" : "no predicted step, and so no seconds: " + asked.note);
  return row;
}

}  // namespace

Losses smoothed(const Losses& losses) {
  Losses means(losses.size());
  for (std::size_t end = loss_window_steps; end <= losses.size(); ++end) {
    double sum = 0.0;
    bool known = true;
    for (std::size_t i = end - loss_window_steps; i < end; ++i) {
      known = known && losses[i].has_value();
      sum += losses[i].value_or(0.0);
    }
    if (known) means[end - 1] = sum / static_cast<double>(loss_window_steps);
  }
  return means;
}

std::optional<std::int64_t> steps_to(const Losses& smoothed_losses, double target) {
  for (std::size_t i = 0; i < smoothed_losses.size(); ++i)
    if (smoothed_losses[i] && *smoothed_losses[i] <= target) return static_cast<std::int64_t>(i) + 1;
  return std::nullopt;
}

std::optional<double> LossCurve::lowest() const {
  std::optional<double> of_all;
  for (const Losses& repeat : repeats) {
    std::optional<double> low;
    for (const auto& loss : repeat)
      if (loss && (!low || *loss < *low)) low = loss;
    if (!low) return std::nullopt;
    of_all = std::max(of_all.value_or(*low), *low);
  }
  return of_all;
}

LossCurves loss_curves(const std::vector<Configuration>& configurations) {
  LossCurves all;
  const Configuration* main = of_models_workload(configurations);
  for (const Configuration& configuration : configurations) {
    std::map<std::int64_t, Losses> by_measurement;
    std::map<std::int64_t, std::int64_t> last_measured;
    for (const RunStep& step : configuration.measured) {
      std::int64_t& last = last_measured.try_emplace(step.measurement, step.step).first->second;
      last = std::max(last, step.step);
    }
    bool any = false;
    for (const auto* steps : {&configuration.warmup, &configuration.measured})
      for (const RunStep& step : *steps) {
        if (step.step < 0 || !step.has_loss) continue;
        // Warm-up after the last measured step is that of the copy without the DDP wrapper, a training of its own.
        const auto last = last_measured.find(step.measurement);
        if (last != last_measured.end() && step.step > last->second) continue;
        Losses& losses = by_measurement[step.measurement];
        const auto at = static_cast<std::size_t>(step.step);
        if (losses.size() <= at) losses.resize(at + 1);
        losses[at] = step.loss;
      }
    LossCurve curve;
    for (const std::int64_t measurement : configuration.measurements) {
      curve.repeats.push_back(smoothed(by_measurement[measurement]));
      any = any || std::any_of(curve.repeats.back().begin(), curve.repeats.back().end(),
                               [](const auto& loss) { return loss.has_value(); });
    }
    curve.samples_per_worker = configuration.batch_per_worker * configuration.accumulation;
    if (!any || curve.samples_per_worker <= 0) continue;
    if (configuration.model != main->model || configuration.precision != main->precision ||
        configuration.device != main->device) {
      ++all.left_out;
      continue;
    }
    curve.strategy = configuration.strategy;
    curve.workers = configuration.world_size;
    if (!configuration.measured.empty()) {
      std::vector<double> durations_s;
      for (const RunStep& step : configuration.measured) durations_s.push_back(step.duration_s);
      curve.step_s = stats::median(durations_s);
    }
    all.curves.push_back(std::move(curve));
  }
  return all;
}

LossCurves loss_curves(store::Database& database) {
  try {
    return loss_curves(read_configurations(database.sql()));
  } catch (const SQLite::Exception& error) {
    throw store::translate(error, database.path());
  }
}

std::optional<double> default_target(std::span<const LossCurve> curves) {
  std::optional<double> target;
  for (const LossCurve& curve : curves)
    if (const auto lowest = curve.lowest()) target = std::max(target.value_or(*lowest), *lowest);
  return target;
}

std::optional<StepRange> steps_to(const LossCurve& curve, double target) {
  std::optional<StepRange> range;
  for (const Losses& repeat : curve.repeats) {
    const auto steps = steps_to(repeat, target);
    if (!steps) return std::nullopt;
    range = range ? StepRange{std::min(range->low, *steps), std::max(range->high, *steps)} : StepRange{*steps, *steps};
  }
  return range;
}

StepRange steps_at(const StepRange& measured, std::int64_t measured_batch, std::int64_t batch) {
  // In doubles: the products may be beyond what an int64 holds, and steps below 2^53 / batch come out exactly.
  const auto same_samples = [&](std::int64_t steps) {
    const double samples = static_cast<double>(steps) * static_cast<double>(measured_batch);
    return static_cast<std::int64_t>(
        std::min(std::ceil(samples / static_cast<double>(batch)), learning_rate::most_counted));
  };
  if (batch >= measured_batch) return {std::max(loss_window_steps, same_samples(measured.low)), measured.high};
  return {measured.low, same_samples(measured.high)};
}

Table time_to_target_table(const fit::LearningRateOptions& options, const LossCurves& losses,
                           std::span<const TrainingTime> asked, std::optional<double> target) {
  const std::vector<LossCurve>& curves = losses.curves;
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
  table.columns[2].hide_constant = true;  // the title has it
  table.key_columns = 2;
  if (!target) target = default_target(curves);
  if (curves.empty() || !target) return table;
  table.title = fmt::format("Time to a loss of {}", text_of(*target));
  table.note = fmt::format(
      "Until the mean loss of the last {} steps (up to {} steps late) is {} or less. Measured: fewest and most steps "
      "over the repeats, counted from the weights the measurement began with, warm-up steps included; seconds: times "
      "the median measured step, as predictions are of the median (steps that stand out from it come on top). "
      "{} Other N: bounds, with predicted steps and "
      "their interval. One end: as many samples as measured, which is the best a larger batch can do, up to the "
      "gradient's noise scale (McCandlish et al. 2018); the other: as many steps as measured, where a larger batch "
      "gives nothing (Shallue et al. 2019). Both assume a learning rate tuned at each batch, and are of the expected "
      "loss: a noisy loss crosses the target earlier by chance, so they hold but for that noise. None is below {} "
      "steps, which the first mean takes. To narrow them, measure the training to the target at that batch.",
      loss_window_steps, loss_window_steps - 1, text_of(*target),
      options.applied ? "Every N was trained with the scenario's schedule."
                      : "Every N was trained at the base rate, not scaled to its batch.",
      loss_window_steps);
  if (losses.left_out > 0)
    table.note += fmt::format(
        " Left out: {} measured configuration{} of another model, precision or device than what predictions rest on.",
        losses.left_out, losses.left_out == 1 ? "" : "s");
  std::vector<Reached> reached;
  for (const LossCurve& curve : curves) {
    table.rows.push_back(measured_row(options, curve, *target));
    if (const auto steps = steps_to(curve, *target)) reached.push_back({&curve, *steps});
  }
  for (const TrainingTime& one : asked) {
    const auto measured = [&](const LossCurve& curve) {
      return curve.strategy == one.strategy && curve.workers == one.workers &&
             curve.samples_per_worker == options.samples_per_worker;
    };
    if (std::none_of(curves.begin(), curves.end(), measured))
      table.rows.push_back(asked_row(options, one, reached, *target));
  }
  return table;
}

}  // namespace ddpprof::report
