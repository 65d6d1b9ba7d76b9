#include "analysis/report/tables/learning_rate/schedule_tables.hpp"

#include <fmt/format.h>

#include <set>

#include "analysis/predict/learning_rate.hpp"
#include "analysis/report/core/columns.hpp"
#include "simulator/learning_rate/large_batch.hpp"
#include "simulator/units/units.hpp"

namespace ddpprof::report {
namespace {

using learning_rate::Decay;
using learning_rate::DecayKind;
using learning_rate::Schedule;

constexpr const char* no_workers = "No worker counts given. Give at least one, for example 8,16,64.";

std::set<std::int64_t> workers_of(const fit::LearningRateOptions& options) {
  return {options.workers.begin(), options.workers.end()};
}

std::string number(double value) { return units::format_quantity(value, "", 4); }

std::string decay_text(const Decay& decay) {
  const std::string least =
      decay.least_share > 0.0 ? fmt::format(", down to {} of the target", number(decay.least_share)) : "";
  switch (decay.kind) {
    case DecayKind::constant:
      return "none";
    case DecayKind::step: {
      std::string epochs;
      for (const double epoch : decay.at_epochs) epochs += (epochs.empty() ? "" : ", ") + number(epoch);
      return fmt::format("by {} at the epochs {}", number(decay.factor), epochs);
    }
    case DecayKind::cosine:
      return "half a cosine over the steps after the warm-up" + least;
    case DecayKind::polynomial:
      return fmt::format("(1 − p)^{} over the steps after the warm-up{}", number(decay.power), least);
  }
  return "?";
}

std::string notes_of(const Schedule& schedule) {
  std::string all;
  for (const learning_rate::Warning warning : schedule.warnings)
    all += (all.empty() ? "" : "; ") + std::string(learning_rate::explain(warning));
  return all;
}

}  // namespace

Table schedules_table(const fit::LearningRateOptions& options, std::span<const learning_rate::Rule> rules) {
  Table table;
  table.name = "learning_rate_schedules";
  table.title = "Schedules by rule";
  table.note = fmt::format(
      "Decay after the warm-up: {}. Linear and LARS: κ · base (Goyal et al. 2017; You et al. 2017, with layerwise "
      "rates). Square root and LAMB: √κ · base (Malladi et al. 2022; You et al. 2020, with layerwise rates; warm-up "
      "from 0 with the same number of steps at every batch). AdaScale: gain · base, in 1 / gain of the base batch's "
      "steps, with the gain that follows from the noise scale (Johnson et al. 2020). In MLPerf trainings of ResNet-50 "
      "that "
      "were tuned for LARS, the rate grew as κ^0.3 to κ^0.4 from batches of 1,000 on, so LARS's rule is an upper limit "
      "there. Quarters are quarters of each "
      "rule's own training.",
      decay_text(options.decay));
  table.empty = no_workers;
  table.columns = {count("workers", "N", "workers"),
                   text("rule", "rule"),
                   count("warmup_steps", "warm-up", "steps"),
                   count("total_steps", "training", "steps"),
                   digits(quantity("start_lr", "start", ""), 4),
                   digits(quantity("target_lr", "target", ""), 4),
                   digits(quantity("quarter_lr", "at 1/4", ""), 4),
                   digits(quantity("half_lr", "at 1/2", ""), 4),
                   digits(quantity("three_quarters_lr", "at 3/4", ""), 4),
                   digits(quantity("last_lr", "last step", ""), 4),
                   prose("note", "note")};
  table.key_columns = 2;
  for (const std::int64_t workers : workers_of(options)) {
    const learning_rate::Plan plan = fit::plan_of(options, workers);
    for (const learning_rate::Rule rule : rules) {
      if (const auto why = refusal(rule, plan)) {
        table.rows.push_back(
            {workers, to_string(rule), Cell(), Cell(), Cell(), Cell(), Cell(), Cell(), Cell(), Cell(), *why});
        continue;
      }
      const Schedule schedule = schedule_of(rule, plan);
      Row row{workers,           to_string(rule),   schedule.warmup_steps, schedule.total_steps,
              schedule.lr_at(0), schedule.target_lr};
      // Quarters are computed without a product that may overflow int64.
      const std::int64_t all = schedule.total_steps, quarter = all / 4, rest = all % 4;
      for (const std::int64_t part : {1, 2, 3}) row.emplace_back(schedule.lr_at(part * quarter + part * rest / 4));
      row.emplace_back(schedule.lr_at(all - 1));
      row.emplace_back(notes_of(schedule));
      table.rows.push_back(std::move(row));
    }
  }
  return table;
}

std::string workers_at_text(const fit::LearningRateOptions& options, const stats::Interval& noise_scale_samples,
                            double efficiency) {
  using namespace learning_rate;
  const WorkerLimits most =
      workers_at_efficiency(critical_batch(noise_scale_samples), static_cast<double>(options.base_batch()),
                            static_cast<double>(options.samples_per_worker), efficiency);
  const auto shown = [](std::int64_t workers) {
    return workers == most_workers ? std::string("any") : fmt::format("{}", workers);
  };
  return fmt::format("{} ({} to {})", shown(most.mid), shown(most.low), shown(most.high));
}

Table large_batches_table(const fit::LearningRateOptions& options, const stats::Interval& noise_scale_samples) {
  using namespace learning_rate;
  const stats::Interval critical = critical_batch(noise_scale_samples);
  const auto base_batch = static_cast<double>(options.base_batch());
  const auto limit = [&](double efficiency) { return workers_at_text(options, noise_scale_samples, efficiency); };
  Table table;
  table.name = "large_batches";
  table.title = "Benefit of a larger batch";
  table.note = fmt::format(
      "Noise scale: {} ({} to {}) samples. Critical batch: {} to {} times the noise scale, as found in measured "
      "trainings, within 10 %. Gain: steps at the base batch of {} that one step replaces (Johnson et al. 2020). "
      "Efficiency = gain / κ, the value of one sample (Qiao et al. 2021). Steps: to the same target, relative to the "
      "base batch (McCandlish et al. 2018). Linear rule: amber at an efficiency of {} or less, where its rate is {} "
      "times the rate that the gain allows; red at {} or less ({} times). Green up to N = {}, amber up to N = {}.{} "
      "The noise scale is assumed to be constant; in a training it grows.",
      number(noise_scale_samples.mid), number(noise_scale_samples.low), number(noise_scale_samples.high),
      number(least_critical_share), number(most_critical_share), number(base_batch), number(amber_efficiency),
      number(1.0 / amber_efficiency), number(red_efficiency), number(1.0 / red_efficiency), limit(amber_efficiency),
      limit(red_efficiency), options.adaptive_optimizer ? " The ratings apply to SGD, not to Adam." : "");
  table.empty = no_workers;
  table.columns = {count("workers", "N", "workers"),
                   count("global_batch_samples", "global batch", "samples"),
                   quantity("kappa", "κ", ""),
                   digits(quantity("gain", "gain", ""), 3),
                   digits(quantity("gain_low", "low", ""), 3),
                   digits(quantity("gain_high", "high", ""), 3),
                   share("efficiency", "efficiency"),
                   share("steps_share", "steps"),
                   share("steps_share_low", "low"),
                   share("steps_share_high", "high"),
                   text("linear_rule", "linear rule")};
  table.key_columns = 1;
  for (const std::int64_t workers : workers_of(options)) {
    const std::int64_t samples = learning_rate::global_batch(workers, options.samples_per_worker);
    const auto batch = static_cast<double>(samples);
    const stats::Interval steps = steps_at_batch(1.0, critical, base_batch, batch);
    table.rows.push_back({workers, samples, batch / base_batch, 1.0 / steps.mid, 1.0 / steps.high, 1.0 / steps.low,
                          statistical_efficiency(critical.mid, base_batch, batch), steps.mid, steps.low, steps.high,
                          to_string(linear_rule_light(critical.mid, base_batch, batch))});
  }
  return table;
}

}  // namespace ddpprof::report
