#include "runner/scenario_queries/trained.hpp"

#include <algorithm>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "runner/scenario/schedule.hpp"
#include "runner/scenario_queries/measurement_options.hpp"

namespace ddpprof::scenario_queries {
namespace {

// The options of a measurement that its learning rates depend on.
struct RateOptions {
  explicit RateOptions(std::string_view options)
      : all(options_of(options)),
        adascale(all.is_object() ? all.value("adascale", nlohmann::json()) : nlohmann::json()) {}

  // Returns true if the start of the training is known. Only ranks that reached their end report where a resumed
  // training began.
  bool has_start(const scenario::Scenario& scenario) const {
    return scenario.checkpoint.resume.empty() ||
           (all.is_object() && (all.contains("resumed_step") || adascale.is_object()));
  }
  // The AdaScale state at the start of the measurement. Missing values are those of a new training.
  learning_rate::AdaScaleState state() const {
    learning_rate::AdaScaleState state;
    const auto read = [this](const char* key, auto& into) {
      if (adascale.is_object() && adascale.contains(key) && adascale[key].is_number())
        into = adascale[key].get<std::decay_t<decltype(into)>>();
    };
    read("steps", state.steps);
    read("base_steps", state.base_steps);
    read("base_batch", state.base_batch);
    read("gradient_sqr", state.average.gradient_sqr);
    read("trace_samples", state.average.trace);
    return state;
  }

  nlohmann::json all, adascale;
};

// Calculates AdaScale again from the recorded gradient norms. Each step depends on all earlier steps of the
// measurement.
class Replay {
 public:
  Replay(const scenario::Scenario& scenario, std::int64_t samples) : scenario_(scenario), samples_(samples) {}

  std::optional<metrics::PlannedStep> operator()(const metrics::RecordedStep& step) {
    if (step.measurement != measurement_) begin(step);
    if (!adascale_ || step.step != next_++) return lost();
    // One rank without accumulation records no norms and does not need them.
    const bool needed = step.workers > 1 || scenario_.workload.accumulation > 1;
    std::optional<learning_rate::NoiseSample> sample;
    if (std::ssize(step.local_gradient_sqr) == step.workers)
      sample = learning_rate::noise_of_step(step.local_gradient_sqr, step.gradient_sqr, step.samples,
                                            scenario_.workload.accumulation);
    if (needed && !sample) return lost();
    const double rate = adascale_->step(sample);
    return metrics::PlannedStep{rate, adascale_->state().base_steps};
  }

 private:
  void begin(const metrics::RecordedStep& step) {
    measurement_ = step.measurement;
    next_ = step.step;
    adascale_.reset();
    const RateOptions options(step.options);
    if (step.number != 0 || !options.has_start(scenario_)) return;
    try {
      adascale_.emplace(scenario::adascale_of(scenario_, step.workers, samples_, options.state()));
    } catch (const std::invalid_argument&) {
      // The file has impossible values: its steps are not checked.
    }
  }
  std::optional<metrics::PlannedStep> lost() {
    adascale_.reset();
    return std::nullopt;
  }

  const scenario::Scenario& scenario_;
  std::int64_t samples_, measurement_ = -1, next_ = 0;
  std::optional<learning_rate::AdaScale> adascale_;
};

std::vector<learning_rate::Warning> warnings_of(const scenario::Scenario& scenario, std::int64_t workers,
                                                std::int64_t samples) {
  if (scenario.learning_rate.rule != learning_rate::Rule::adascale)
    return scenario::schedule_of(scenario, workers, samples).warnings;
  // AdaScale has no schedule in advance: its gain changes during training.
  const double kappa = learning_rate::unscaled(scenario::learning_rate_plan(scenario, workers, samples)).kappa;
  if (kappa < 1.0) return {learning_rate::Warning::gain_below_one};
  return {};
}

}  // namespace

std::vector<metrics::TrainedRates> trained_rates(store::Database& database, const scenario::Scenario& scenario,
                                                 std::int64_t samples) {
  const double base = scenario.learning_rate.base;
  if (!scenario.learning_rate.apply)
    return metrics::trained_rates(database, [base](const metrics::RecordedStep&) {
      return metrics::PlannedStep{base, {}};
    });
  if (scenario.learning_rate.rule == learning_rate::Rule::adascale)
    return metrics::trained_rates(database, Replay(scenario, samples));
  std::int64_t measurement = -1;
  std::optional<learning_rate::Schedule> schedule;  // nullopt: unknown
  return metrics::trained_rates(database,
                                [&](const metrics::RecordedStep& step) -> std::optional<metrics::PlannedStep> {
                                  if (step.measurement != measurement) {
                                    measurement = step.measurement;
                                    schedule.reset();
                                    const RateOptions options(step.options);
                                    if (options.has_start(scenario)) {
                                      auto plan = scenario::learning_rate_plan(scenario, step.workers, samples);
                                      plan.batches_span_epochs = spans_epochs(options.all);
                                      schedule = learning_rate::schedule_of(scenario.learning_rate.rule, plan);
                                    }
                                  }
                                  if (!schedule) return std::nullopt;
                                  return metrics::PlannedStep{schedule->lr_at(step.step), {}};
                                });
}

std::vector<std::string> rate_warnings(const scenario::Scenario& scenario) {
  if (!scenario.learning_rate.apply) return {};
  const auto samples = scenario.workload.data.known_samples();
  std::vector<std::pair<learning_rate::Warning, std::string>> found;
  for (const std::int64_t workers : scenario.workers) {
    for (const learning_rate::Warning warning : warnings_of(scenario, workers, samples.value_or(1))) {
      if (!samples && warning == learning_rate::Warning::warmup_exceeds_training) continue;
      auto known = std::ranges::find(found, warning, &std::pair<learning_rate::Warning, std::string>::first);
      if (known == found.end()) known = found.insert(found.end(), {warning, "N = "});
      known->second += (known->second.ends_with("= ") ? "" : ", ") + std::to_string(workers);
    }
  }
  std::vector<std::string> texts;
  for (const auto& [warning, where] : found) texts.push_back(where + ": " + learning_rate::explain(warning));
  return texts;
}

std::string rate_plan_text(const scenario::Scenario& scenario) {
  const scenario::LearningRate& rate = scenario.learning_rate;
  if (!rate.apply) return "the base rate in every step (learning_rate.apply is false)";
  return std::string("rule ") + word(rate.rule) + ", decay " + learning_rate::to_string(rate.decay.kind);
}

}  // namespace ddpprof::scenario_queries
