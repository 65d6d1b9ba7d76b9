#include "analysis/metrics/loss_curves.hpp"

#include <SQLiteCpp/Exception.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "simulator/learning_rate/linear_rule.hpp"
#include "simulator/stats/summary.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof::metrics {
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
        // Warm-up after the last measured step belongs to the copy without the DDP wrapper, which is a separate
        // training.
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
      for (const RunStep& step : configuration.timed()) durations_s.push_back(step.duration_s);
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

}  // namespace ddpprof::metrics
