#include "gui/models/learning_rate/schedules.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <span>

#include "analysis/metrics/loss_curves.hpp"
#include "analysis/predict/learning_rate.hpp"
#include "analysis/report/tables/learning_rate/gradient_noise_table.hpp"
#include "analysis/report/tables/learning_rate/learning_rate_tables.hpp"
#include "analysis/report/tables/learning_rate/rate_choice.hpp"
#include "analysis/report/tables/learning_rate/schedule_tables.hpp"
#include "analysis/report/tables/learning_rate/target_cost.hpp"
#include "analysis/report/tables/learning_rate/time_to_target.hpp"
#include "analysis/report/tables/learning_rate/trained_rates_table.hpp"
#include "analysis/report/tables/learning_rate/training_times.hpp"
#include "gui/models/shell_words.hpp"
#include "simulator/learning_rate/large_batch.hpp"
#include "simulator/learning_rate/square_root_rule.hpp"
#include "simulator/units/units.hpp"

namespace ddpprof::gui {
namespace {

using learning_rate::Rule;
using learning_rate::Schedule;

const std::string no_noise =
    std::string("This file has no usable gradient noise scale. Measure it with: ") + metrics::measure_noise_command;

std::string rate_text(double rate) { return units::format_quantity(rate, "", 4); }

std::optional<Schedule> schedule_of(const RateInputs& inputs, Rule rule) {
  const learning_rate::Plan plan = fit::plan_of(inputs.options, inputs.workers);
  if (refusal(rule, plan)) return std::nullopt;
  return learning_rate::schedule_of(rule, plan);
}

// Returns the warning about the options' rule at this N, or why the rule has no rate; otherwise "".
std::string note_of_the_rule(const RateInputs& inputs) {
  if (const auto why = refusal(inputs.options.rule, fit::plan_of(inputs.options, inputs.workers))) return *why;
  return fit::learning_rates(inputs.at(inputs.workers)).front().note;
}

// Returns the steps between which the schedule is a straight line, or nearly so. If the warm-up ends after the
// training, the curve ends with the training.
std::set<std::int64_t> corners(const Schedule& schedule) {
  const std::int64_t first = std::min(schedule.warmup_steps, schedule.total_steps), last = schedule.total_steps;
  std::set<std::int64_t> steps{0, first, last};
  switch (schedule.decay.kind) {
    case learning_rate::DecayKind::constant:
      break;
    case learning_rate::DecayKind::step:
      for (const double epoch : schedule.decay.at_epochs) {
        const double cut = std::round(epoch * schedule.decay_epoch_steps);
        if (!(cut > static_cast<double>(first) && cut < static_cast<double>(last))) continue;
        steps.insert({static_cast<std::int64_t>(cut) - 1, static_cast<std::int64_t>(cut)});
      }
      break;
    case learning_rate::DecayKind::cosine:
    case learning_rate::DecayKind::polynomial: {
      constexpr std::int64_t parts = 64;
      const std::int64_t whole = (last - first) / parts, rest = (last - first) % parts;
      for (std::int64_t part = 1; part < parts; ++part) steps.insert(first + whole * part + rest * part / parts);
      break;
    }
  }
  return steps;
}

// Says up to which N the linear rule is expected to hold, by the gradient noise scale; the same numbers as the table of
// larger batches.
std::string noise_sentence(const RateInputs& inputs) {
  const auto most = [&](double efficiency) {
    return report::workers_at_text(inputs.options, *inputs.noise_scale_samples, efficiency);
  };
  const auto samples = [](double value) {
    return std::isfinite(value) ? units::format_quantity(value, "", 3) : std::string("unlimited");
  };
  return ". Measured in this file: " + samples(inputs.noise_scale_samples->mid) + " (" +
         samples(inputs.noise_scale_samples->low) + " to " + samples(inputs.noise_scale_samples->high) +
         ") samples. The linear rule is then expected to hold up to N = " + most(learning_rate::amber_efficiency) +
         "; beyond N = " + most(learning_rate::red_efficiency) + " its rate is more than twice the best rate.";
}

}  // namespace

void RateInputs::set_batch(std::int64_t batch_per_worker, std::int64_t micro_batches) {
  batch = batch_per_worker;
  accumulation = micro_batches;
  options.samples_per_worker = batch * accumulation;
}

void RateInputs::ask_batch(std::int64_t batch_per_worker, std::int64_t micro_batches) {
  if (!options.tuned_batch) options.tuned_batch = options.base_batch();
  set_batch(batch_per_worker, micro_batches);
}

void RateInputs::set_adaptive(bool value, const RateInputs& stored) {
  options.adaptive_optimizer = value;
  if (value == stored.options.adaptive_optimizer) {
    adaptive = stored.adaptive;
    optimizer = stored.optimizer;
  } else {
    adaptive = value;
    optimizer = value ? "adaptive" : "sgd";
  }
}

fit::LearningRateOptions RateInputs::at(std::int64_t one_worker_count) const {
  fit::LearningRateOptions one = options;
  one.workers = {one_worker_count};
  return one;
}

fit::LearningRateOptions RateInputs::asked() const {
  fit::LearningRateOptions all = options;
  std::set<std::int64_t> counts(options.workers.begin(), options.workers.end());
  counts.insert(workers);
  all.workers.assign(counts.begin(), counts.end());
  return all;
}

std::vector<ScheduleCurve> schedule_curves(const RateInputs& inputs, ScheduleAxis axis) {
  std::vector<ScheduleCurve> curves;
  std::vector<Rule> rules = {Rule::linear, Rule::square_root, Rule::none};
  if (std::ranges::find(rules, inputs.options.rule) == rules.end()) rules.push_back(inputs.options.rule);
  for (const Rule rule : rules) {
    const std::optional<Schedule> schedule = schedule_of(inputs, rule);
    if (!schedule) continue;
    ScheduleCurve curve;
    curve.rule = rule;
    for (const std::int64_t step : corners(*schedule)) {
      const auto at = static_cast<double>(step);
      curve.x.push_back(axis == ScheduleAxis::steps ? at : at / schedule->epoch_steps);
      curve.rate.push_back(schedule->lr_at(step));
    }
    curves.push_back(std::move(curve));
  }
  return curves;
}

std::int64_t largest_validated_workers(const RateInputs& inputs) {
  return learning_rate::largest_validated_batch / inputs.options.samples_per_worker;
}

std::string answer_text(const RateInputs& inputs) {
  const Schedule linear = *schedule_of(inputs, Rule::linear);  // the linear rule has a rate for all inputs
  const std::optional<Schedule> root = schedule_of(inputs, Rule::square_root);
  std::string text = "At N = " + std::to_string(inputs.workers) + " the global batch is " +
                     std::to_string(linear.global_batch) + " samples: κ = " + units::format_quantity(linear.kappa, "") +
                     " × the batch of " + std::to_string(inputs.options.base_batch()) + " for which the base rate " +
                     rate_text(linear.base_lr) + " was tuned. Linear rule: " + rate_text(linear.target_lr);
  if (linear.warmup_steps > 0) {
    text += ", reached over " + std::to_string(linear.warmup_steps) + " steps of warm-up (" +
            units::format_quantity(inputs.options.warmup_epochs, "") +
            (inputs.options.warmup_epochs == 1.0 ? " epoch)" : " epochs)");
  } else {
    text += ", without warm-up";
  }
  text += ". Square-root rule: " + (root ? rate_text(root->target_lr) : "no rate for Adam at this batch") + ". ";
  const std::optional<Schedule> own = schedule_of(inputs, inputs.options.rule);
  if (own && inputs.options.rule != Rule::linear && inputs.options.rule != Rule::square_root)
    text += fmt::format("The scenario's rule, {}: {}. ", to_string(inputs.options.rule), rate_text(own->target_lr));
  text += "An epoch has " + units::format_quantity(linear.epoch_steps, "", 6) + " steps; the training has " +
          std::to_string(linear.total_steps);
  if (own && own->total_steps != linear.total_steps)
    text += fmt::format(" ({} by the rule {})", own->total_steps, to_string(inputs.options.rule));
  text += ".";
  return text;
}

std::string limits_text(const RateInputs& inputs) {
  std::string text;
  if (const std::string note = note_of_the_rule(inputs); !note.empty())
    text = inputs.options.rule == Rule::linear
               ? "Warning: " + note + ". "
               : fmt::format("{}, {}: {}. ", inputs.recorded ? "The rule for this optimizer" : "The scenario's rule",
                             to_string(inputs.options.rule), note);
  const std::int64_t largest = largest_validated_workers(inputs);
  const std::string shown = "The linear rule was validated up to a global batch of " +
                            std::to_string(learning_rate::largest_validated_batch) +
                            " (Goyal et al. 2017: ResNet-50 on ImageNet, SGD with momentum). ";
  if (largest < 1) {
    text += shown + "One worker with this batch already exceeds it. ";
  } else {
    text += shown + "With this batch, that is N = " + std::to_string(largest) + ". ";
  }
  text +=
      "Reason for the limit: a larger batch averages away gradient noise. When the batch is larger than the gradient "
      "noise scale (McCandlish et al. 2018), little noise is left to average: a rate κ times as high no longer helps, "
      "and further samples are wasted. The noise scale differs between tasks and grows during training";
  text += inputs.noise_scale_samples ? noise_sentence(inputs)
                                     : ". This file has no usable value of it: beyond the limit, try the square-root "
                                       "rate as well as the linear rate.";
  if (inputs.options.adaptive_optimizer) {
    const learning_rate::ScaledAdam adam =
        learning_rate::scale_adam(inputs.options.adam, schedule_of(inputs, Rule::linear)->kappa);
    text += adam.valid ? " For Adam, the square-root rule also changes the betas and epsilon (table By rule)."
                       : " For Adam, the square-root rule ends here too: κ (1 − β₁) is 1 or more.";
  }
  return text;
}

RateTables rate_tables(const RateInputs& inputs) {
  const fit::LearningRateOptions asked = inputs.asked();
  std::vector<report::Table> rates = report::rate_tables(asked);
  report::RateChoice choice = inputs.choice();
  choice.options = asked;
  RateTables tables{std::move(rates[0]), {}, report::rules_table(asked), {}, {}, report::rate_choice_table(choice)};
  if (asked.steps_known) {
    tables.warmup = std::move(rates[1]);
    tables.schedules = report::schedules_table(asked, learning_rate::every_rule);
  }
  if (inputs.noise_scale_samples)
    tables.batches = report::large_batches_table(asked, *inputs.noise_scale_samples);
  else
    tables.batches.empty = no_noise;
  return tables;
}

RecordedTables recorded_tables(const OpenedFile& file) {
  return {report::gradient_noise_table(file.noise), report::trained_rates_table(file.trained, file.trained_plan)};
}

namespace {

// `title` is the table's; `times` has its rows.
std::string target_text(const std::string& title, std::span<const report::TargetTime> times, std::int64_t workers) {
  const auto range = [](const std::string& low, const std::string& high) {
    return low == high ? low : low + " to " + high;
  };
  std::string text;
  bool bounds = false;
  for (const report::TargetTime& time : times) {
    if (time.workers != workers) continue;
    text += (text.empty() ? " " : "; ") + time.strategy + " ";
    if (!time.steps) {
      text += basis_text(time) + ": " + time.note;
      continue;
    }
    const auto low = static_cast<double>(time.steps->low), high = static_cast<double>(time.steps->high);
    text += range(std::to_string(time.steps->low), std::to_string(time.steps->high)) + " steps";
    if (time.step_low_s > 0.0)
      text += ", " + range(units::duration_text(low * time.step_low_s), units::duration_text(high * time.step_high_s));
    text += " (" + basis_text(time) + (time.note.empty() ? "" : "; " + time.note) + ")";
    bounds = bounds || time.basis == report::TargetTime::Basis::bounds;
  }
  if (text.empty()) return title + " at N = " + std::to_string(workers) + ": no prediction.";
  text = title + " at N = " + std::to_string(workers) + ":" + text + ".";
  if (bounds)
    text +=
        " Lower and upper bound: the same number of samples as measured (the best case for a larger batch, below the "
        "gradient noise scale, McCandlish et al. 2018), and the same number of steps as measured (a larger batch "
        "gives no gain, Shallue et al. 2019). Both assume a learning rate tuned at each batch. Both are for the "
        "expected loss; a noisy loss can reach the target earlier by chance.";
  return text;
}

}  // namespace

TimeTables time_tables(const OpenedFile& file, const RateInputs& inputs, const Cancelled& cancelled) {
  const fit::LearningRateOptions asked = inputs.asked();
  std::vector<report::TrainingTime> times;
  if (file.models)
    times = report::training_times(file.models, file.predict, asked, inputs.batch, inputs.accumulation,
                                   [&] { return cancelled(); });
  const metrics::LossCurves losses = metrics::loss_curves(file.configurations);
  TimeTables tables;
  tables.training = report::training_time_table(asked, times);
  if (!file.models) tables.training.empty = "Cannot predict the training time: " + file.why_no_models;
  tables.target = report::time_to_target_table(asked, losses, times, inputs.target_loss);
  if (inputs.noise_scale_samples)
    tables.cost =
        report::target_cost_table(asked, times, {*inputs.noise_scale_samples, {}, 0.0, file.predict.gpus_per_node});
  else
    tables.cost.empty = no_noise;
  const std::optional<double> target = inputs.target_loss ? inputs.target_loss : metrics::default_target(losses.curves);
  std::vector<report::TargetTime> target_times;
  if (target && !losses.curves.empty()) target_times = report::target_times(asked, losses, times, *target);
  tables.target_text =
      target_times.empty() ? tables.target.empty : target_text(tables.target.title, target_times, inputs.workers);
  tables.default_target = metrics::default_target(losses.curves);
  return tables;
}

std::string command_line(const std::string& path, const RateInputs& inputs, const RateInputs& stored) {
  std::string text =
      fmt::format("ddpprof lr {} --workers {}", shell_word(path), fmt::join(inputs.asked().workers, ","));
  // fmt prints the shortest text of a double that reads back as the same double.
  const auto add = [&](const char* option, const auto& value, const auto& before) {
    if (value != before) text += fmt::format(" {} {}", option, value);
  };
  add("--base", inputs.options.base_lr, stored.options.base_lr);
  // --base-workers replaces a base batch. So it is given, even if it equals the scenario's number, if the scenario
  // names a base batch or if the batch was edited (which keeps the base batch). The two options exclude each other.
  if (inputs.options.tuned_batch) {
    if (inputs.options.tuned_batch != stored.options.tuned_batch)
      text += fmt::format(" --base-batch {}", *inputs.options.tuned_batch);
  } else if (stored.options.tuned_batch || inputs.batch != stored.batch || inputs.accumulation != stored.accumulation) {
    text += fmt::format(" --base-workers {}", inputs.options.base_workers);
  } else {
    add("--base-workers", inputs.options.base_workers, stored.options.base_workers);
  }
  add("--batch-per-worker", inputs.batch, stored.batch);
  add("--accumulation", inputs.accumulation, stored.accumulation);
  add("--epochs", inputs.options.epochs, stored.options.epochs);
  add("--warmup-epochs", inputs.options.warmup_epochs, stored.options.warmup_epochs);
  const auto rule = [](const RateInputs& of) { return of.options.adaptive_optimizer ? "adaptive" : "sgd"; };
  add("--optimizer", std::string(rule(inputs)), std::string(rule(stored)));
  if (inputs.target_loss) text += fmt::format(" --target-loss {}", *inputs.target_loss);
  if (!inputs.has_schedules()) text += " --rule all";  // the window always shows all rules
  return text;
}

std::optional<std::vector<std::int64_t>> parse_workers(const std::string& text, std::string& why) {
  std::set<std::int64_t> counts;
  const char* at = text.data();
  const char* const end = at + text.size();
  const auto skip = [&](char what) {
    while (at != end && (*at == ' ' || *at == what)) ++at;
  };
  for (skip(' '); at != end; skip(',')) {
    std::int64_t value = 0;
    const auto [next, error] = std::from_chars(at, end, value);
    if (error != std::errc() || value < 1 || value > most_rate_workers ||
        (next != end && *next != ',' && *next != ' ')) {
      const std::string rest(at, std::find(at, end, ','));
      why = "“" + rest + "” is not a worker count. Expected whole numbers from 1 to 1000000, for example 8,16,64";
      return std::nullopt;
    }
    counts.insert(value);
    at = next;
  }
  if (counts.empty()) {
    why = "No worker count. Expected at least one, for example 8,16,64";
    return std::nullopt;
  }
  return std::vector<std::int64_t>(counts.begin(), counts.end());
}

std::string workers_text(const std::vector<std::int64_t>& workers) {
  std::string text;
  for (const std::int64_t one : workers) text += (text.empty() ? "" : ", ") + std::to_string(one);
  return text;
}

}  // namespace ddpprof::gui
