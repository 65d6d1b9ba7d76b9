#include "gui/models/learning_rate/recorded_rates.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "gui/models/overview/overview.hpp"
#include "gui/models/shell_words.hpp"
#include "simulator/units/units.hpp"

namespace ddpprof::gui {
namespace {

using scenario_queries::GivenRate;
using scenario_queries::RateQuestion;

std::optional<std::int64_t>* count_of(GivenRate& given, RateField field) {
  switch (field) {
    case RateField::base_batch:
      return &given.base_batch;
    case RateField::batch:
      return &given.batch;
    case RateField::accumulation:
      return &given.accumulation;
    case RateField::samples:
      return &given.samples;
    case RateField::epochs:
      return &given.epochs;
    case RateField::base:
    case RateField::warmup:
      break;
  }
  return nullptr;
}

// The limits of the options of `ddpprof lr`.
std::int64_t largest(RateField field) {
  if (field == RateField::accumulation) return 100'000;
  return field == RateField::samples ? 1'000'000'000'000 : 100'000'000;
}

template <typename Number>
bool is_number(const std::string& text, Number& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

std::string missing_text(const RateInputs& inputs, const GivenRate& given) {
  std::string text;
  if (!inputs.base_known) text += " The base rate is not recorded: enter it to see rates.";
  if (!inputs.adaptive)
    text += inputs.optimizer.empty()
                ? " The optimizer is not recorded: linear is the rule for SGD, square root the rule for Adam."
                : " The name " + inputs.optimizer + " does not show the optimizer's rule.";
  if (given.samples && given.epochs)
    return inputs.base_known && inputs.adaptive ? text
                                                : text + " Steps and times need the base rate and the optimizer, too.";
  return text + " Enter the samples of an epoch and the epochs to see the warm-up, the steps and the time of the training.";
}

std::string steps_text(const RateInputs& inputs, const GivenRate& given) {
  const learning_rate::Plan plan = fit::plan_of(inputs.options, inputs.workers);
  if (refusal(inputs.options.rule, plan)) return "";
  const learning_rate::Schedule schedule = learning_rate::schedule_of(inputs.options.rule, plan);
  return fmt::format(" An epoch has {} steps, the training {}, of them {} of warm-up ({} epochs{}).",
                     units::format_quantity(schedule.epoch_steps, "", 6), schedule.total_steps, schedule.warmup_steps,
                     units::format_quantity(inputs.options.warmup_epochs, ""),
                     given.warmup_epochs ? "" : ", assumed");
}

std::string assumed_text(const RateInputs& inputs, const GivenRate& given) {
  const std::string batch = fmt::format("a global batch of {} samples ({})", inputs.options.base_batch(),
                                        given.base_batch ? "entered" : inputs.batch_from);
  if (!inputs.base_known) return "The tuned rate is that of " + batch + ".";
  return fmt::format("Base rate: {} ({}), tuned at {}.", units::format_quantity(inputs.options.base_lr, "", 4),
                     given.base_lr ? "entered" : inputs.base_from, batch);
}

std::string recorded_command(const std::string& path, const RateInputs& inputs, const GivenRate& given) {
  std::string text =
      fmt::format("ddpprof lr {} --workers {}", shell_word(path), fmt::join(inputs.asked().workers, ","));
  // fmt prints the shortest text of a double that reads back as the same double.
  const auto add = [&](const char* option, const auto& value) {
    if (value) text += fmt::format(" {} {}", option, *value);
  };
  add("--base", given.base_lr);
  add("--base-batch", given.base_batch);
  add("--batch-per-worker", given.batch);
  add("--accumulation", given.accumulation);
  if (given.adaptive) text += fmt::format(" --optimizer {}", *given.adaptive ? "adaptive" : "sgd");
  if (!inputs.options.steps_known) return text;  // the command refuses them without each other
  add("--samples", given.samples);
  add("--epochs", given.epochs);
  add("--warmup-epochs", given.warmup_epochs);
  return text + " --rule all";  // the window always shows all rules
}

// Why the inputs have no global batch that depends on N; empty: they have one.
std::string why_no_batch(const OpenedFile& file, const RateInputs& inputs, const GivenRate& given) {
  if (!file.kept_rate.empty() && !given.batch && !given.accumulation)
    return file.kept_rate + " For a global batch that grows with N, enter the batch per worker.";
  return inputs.batch < 1 ? "The batch is not recorded in this file: enter the batch per worker." : "";
}

RecordedRates rates_with_batch(const RateInputs& inputs, const GivenRate& given) {
  RecordedRates shown;
  report::RateChoice choice = inputs.choice();
  choice.options.workers = {inputs.workers};
  const report::Table here = report::rate_choice_table(choice);
  if (here.rows.empty()) {  // no rule for this optimizer
    shown.text = here.empty;
    return shown;
  }
  shown.rates = inputs.base_known && inputs.adaptive;
  shown.steps = inputs.options.steps_known;
  shown.text = fmt::format("N = {}: {}{}\n{}{}", inputs.workers, rate_text(here, 0),
                           shown.steps ? steps_text(inputs, given) : "", assumed_text(inputs, given),
                           missing_text(inputs, given));
  if (shown.rates) {
    shown.limits = limits_text(inputs);
    shown.tables = rate_tables(inputs);
  } else {
    choice.options.workers = inputs.asked().workers;
    shown.tables.choice = report::rate_choice_table(choice);
  }
  return shown;
}

}  // namespace

std::string read_field(GivenRate& given, RateField field, const std::string& text) {
  std::optional<std::int64_t>* const count = count_of(given, field);
  std::optional<double>& number = field == RateField::base ? given.base_lr : given.warmup_epochs;
  if (text.empty()) {
    if (count != nullptr)
      count->reset();
    else
      number.reset();
    return "";
  }
  if (count != nullptr) {
    std::int64_t value = 0;
    if (!is_number(text, value) || value < 1 || value > largest(field))
      return fmt::format("“{}”: expected a whole number from 1 to {}", text, largest(field));
    *count = value;
    return "";
  }
  double value = 0.0;
  const bool fine = is_number(text, value) && std::isfinite(value) && value >= 0.0;
  if (field == RateField::base && !(fine && value > 0.0))
    return fmt::format("“{}”: expected a learning rate above 0, for example 0.1", text);
  if (!fine) return fmt::format("“{}”: expected a number of epochs, for example 5", text);
  number = value;
  return "";
}

std::string unstated_text(const RateQuestion& recorded, RateField field) {
  const auto of_file = [](std::int64_t value, const char* source) {
    return value > 0 ? fmt::format("{} ({})", value, source) : std::string("not known");
  };
  switch (field) {
    case RateField::base:
      return recorded.base_known ? fmt::format("{:.6g} (recorded)", recorded.options.base_lr) : "not known";
    case RateField::base_batch:
      return of_file(recorded.batch > 0 ? recorded.options.base_batch() : 0, "assumed");
    case RateField::batch:
      return of_file(recorded.batch, "recorded");
    case RateField::accumulation:
      return of_file(recorded.accumulation, "recorded");
    case RateField::samples:
    case RateField::epochs:
      break;
    case RateField::warmup:
      return fmt::format("{:.6g} (assumed)", scenario_queries::assumed_warmup_epochs);
  }
  return "not known";
}

std::string unstated_optimizer(const RateQuestion& recorded) {
  return recorded.optimizer.empty() ? "not known" : recorded.optimizer + " (recorded)";
}

RateInputs recorded_inputs(const OpenedFile& file, const GivenRate& given) {
  RateInputs inputs;
  static_cast<RateQuestion&>(inputs) = *file.recorded_rate;
  const auto& workers = inputs.options.workers;
  inputs.workers = workers.empty() ? 1 : *std::max_element(workers.begin(), workers.end());
  inputs.apply(given);
  if (!inputs.base_known || !inputs.adaptive) inputs.options.steps_known = false;  // steps need a rule and its rate
  if (inputs.batch > 0) inputs.set_measured_noise_scale(file.noise);
  return inputs;
}

RecordedRates recorded_rates(const OpenedFile& file, const RateInputs& inputs, const GivenRate& given) {
  RecordedRates shown;
  shown.text = why_no_batch(file, inputs, given);
  try {
    if (shown.text.empty()) shown = rates_with_batch(inputs, given);
  } catch (const std::invalid_argument& error) {  // for example a global batch that is too large
    shown.text = error.what();
  }
  if (shown.tables.choice.rows.empty()) shown.tables.choice.empty = shown.text;
  shown.command = recorded_command(file.path.string(), inputs, given);
  return shown;
}

}  // namespace ddpprof::gui
