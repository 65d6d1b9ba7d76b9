#include "gui/models/learning_rate/schedules.hpp"

#include <algorithm>
#include <charconv>
#include <set>

#include "analysis/fit/learning_rate.hpp"
#include "analysis/report/model_tables.hpp"
#include "analysis/report/units.hpp"
#include "simulator/learning_rate/square_root_rule.hpp"

namespace ddpprof::gui {
namespace {

using learning_rate::Schedule;

std::string rate_text(double rate) { return report::format_quantity(rate, "", 4); }

Schedule schedule_of(const RateInputs& inputs, RateRule rule) {
  const learning_rate::Plan plan = fit::plan_of(inputs.options, inputs.workers);
  if (rule == RateRule::square_root) return learning_rate::square_root_rule(plan);
  Schedule schedule = learning_rate::linear_rule(plan);
  if (rule == RateRule::unscaled) {
    schedule.target_lr = schedule.base_lr;
    schedule.warmup_steps = 0;
  }
  return schedule;
}

fit::WhatIf change_of(const RateInputs& inputs, const fit::StepProfile& measured) {
  fit::WhatIf change;
  if (inputs.batch != measured.batch_per_worker) change.batch_per_worker = inputs.batch;
  if (inputs.accumulation != measured.accumulation) change.accumulation = inputs.accumulation;
  return change;
}

report::TrainingTime time_at(const fit::Predictor& predictor, const std::string& strategy, std::int64_t workers,
                             const fit::WhatIf& change, double confidence) {
  report::TrainingTime row;
  row.strategy = strategy;
  row.workers = workers;
  row.confidence = confidence;
  row.note = predictor.refusal(workers);
  if (row.note.empty() && change.any()) row.note = predictor.no_change(change);
  if (!row.note.empty()) return row;
  try {
    if (change.any()) {
      const fit::WhatIfRow changed = predictor.what_if(workers, change);
      row.throughput = changed.changed_throughput;
      row.step_s = changed.changed_step_s;
      row.step_low_s = changed.changed_low_s;
      row.step_high_s = changed.changed_high_s;
      row.note = "with the batch as edited";
    } else {
      const fit::Prediction predicted = predictor.predict(workers, {});
      row.throughput = predicted.throughput;
      row.step_s = predicted.step_s;
      row.step_low_s = predicted.step_low_s;
      row.step_high_s = predicted.step_high_s;
    }
  } catch (const std::invalid_argument& error) {
    row.note = error.what();
  }
  return row;
}

}  // namespace

void RateInputs::set_batch(std::int64_t batch_per_worker, std::int64_t micro_batches) {
  batch = batch_per_worker;
  accumulation = micro_batches;
  options.samples_per_worker = batch * accumulation;
}

fit::LearningRateOptions RateInputs::at(std::int64_t one_worker_count) const {
  fit::LearningRateOptions one = options;
  one.workers = {one_worker_count};
  return one;
}

const char* to_string(RateRule rule) {
  switch (rule) {
    case RateRule::linear:
      return "linear";
    case RateRule::square_root:
      return "square root";
    case RateRule::unscaled:
      return "unscaled";
  }
  return "?";
}

std::vector<ScheduleCurve> schedule_curves(const RateInputs& inputs, ScheduleAxis axis) {
  std::vector<ScheduleCurve> curves;
  for (const RateRule rule : {RateRule::linear, RateRule::square_root, RateRule::unscaled}) {
    const Schedule schedule = schedule_of(inputs, rule);
    ScheduleCurve curve;
    curve.rule = rule;
    // The warm-up may end after the training: then the curve stops with the training.
    for (const std::int64_t step :
         std::set<std::int64_t>{0, std::min(schedule.warmup_steps, schedule.total_steps), schedule.total_steps}) {
      const auto at = static_cast<double>(step);
      curve.x.push_back(axis == ScheduleAxis::steps ? at : at / static_cast<double>(schedule.steps_per_epoch));
      curve.rate.push_back(schedule.lr_at(step));
    }
    curves.push_back(std::move(curve));
  }
  return curves;
}

report::Table rate_table(const RateInputs& inputs) {
  return report::learning_rate_table(fit::learning_rates(inputs.options));
}

report::Table warmup_table(const RateInputs& inputs) {
  return report::warmup_table(fit::learning_rates(inputs.options));
}

std::int64_t largest_validated_workers(const RateInputs& inputs) {
  return learning_rate::largest_validated_batch / inputs.options.samples_per_worker;
}

std::string answer_text(const RateInputs& inputs) {
  const Schedule linear = schedule_of(inputs, RateRule::linear), root = schedule_of(inputs, RateRule::square_root);
  std::string text =
      "At N = " + std::to_string(inputs.workers) + " a step takes " + std::to_string(linear.global_batch) +
      " samples, κ = " + report::format_quantity(linear.kappa, "") + " times the " +
      std::to_string(inputs.options.base_workers * inputs.options.samples_per_worker) + " that the base rate " +
      rate_text(linear.base_lr) + " was tuned for. Linear rule: " + rate_text(linear.target_lr);
  if (linear.warmup_steps > 0) {
    text += ", reached over " + std::to_string(linear.warmup_steps) + " steps of warm-up (" +
            report::format_quantity(inputs.options.warmup_epochs, "") +
            (inputs.options.warmup_epochs == 1.0 ? " epoch)" : " epochs)");
  } else {
    text += ", from the first step on";
  }
  text += ". Square root: " + rate_text(root.target_lr) + ". An epoch has " + std::to_string(linear.steps_per_epoch) +
          " steps, the training " + std::to_string(linear.total_steps) + ".";
  return text;
}

std::string limits_text(const RateInputs& inputs) {
  const std::vector<fit::LearningRate> rows = fit::learning_rates(inputs.at(inputs.workers));
  std::string text;
  if (!rows.front().note.empty()) text = "Doubtful here: " + rows.front().note + ". ";
  const std::int64_t largest = largest_validated_workers(inputs);
  const std::string shown = "The linear rule was shown to keep the accuracy up to a global batch of " +
                            std::to_string(learning_rate::largest_validated_batch) +
                            " (Goyal et al. 2017: ResNet-50 on ImageNet, SGD with momentum), ";
  if (largest < 1) {
    text += shown + "which one worker of this batch exceeds already. ";
  } else {
    text += shown + "with this batch up to N = " + std::to_string(largest) + ". ";
  }
  text +=
      "Why it ends: averaging more gradients takes their noise away; once the batch is past the gradient's noise scale "
      "(McCandlish et al. 2018) there is little left to average, a step cannot be κ times as long, and further samples "
      "are wasted. That scale differs between tasks and grows during training; this file does not measure it, so "
      "beyond "
      "the limit try the square root beside the linear rate.";
  if (inputs.options.adaptive_optimizer) {
    const learning_rate::ScaledAdam adam = learning_rate::scale_adam({}, schedule_of(inputs, RateRule::linear).kappa);
    text += adam.valid ? " For Adam the square-root rule also changes the betas and epsilon (table By rule)."
                       : " For Adam the square-root rule ends here as well: κ (1 − β₁) is 1 or more.";
  }
  return text;
}

std::vector<report::TrainingTime> training_times(const fit::Models& models, const fit::PredictOptions& options,
                                                 const RateInputs& inputs, const Cancelled& cancelled) {
  std::set<std::int64_t> counts(inputs.options.workers.begin(), inputs.options.workers.end());
  counts.insert(inputs.workers);
  std::vector<report::TrainingTime> rows;
  for (const std::string strategy : {"ddp", "dp"}) {
    const auto& profiles = strategy == "ddp" ? models.measured.ddp : models.measured.dp;
    if (profiles.empty() || cancelled()) continue;
    const fit::Predictor predictor(models, strategy, options);
    const fit::WhatIf change = change_of(inputs, profiles.rbegin()->second);
    for (const std::int64_t workers : counts) {
      if (cancelled()) break;
      rows.push_back(time_at(predictor, strategy, workers, change, options.confidence));
    }
  }
  return rows;
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
      why = "“" + rest + "” is no worker count: expected whole numbers from 1 to 1000000, e.g. 8,16,64";
      return std::nullopt;
    }
    counts.insert(value);
    at = next;
  }
  if (counts.empty()) {
    why = "no worker count: expected some, e.g. 8,16,64";
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
