#include "runner/questions/trained.hpp"

#include <algorithm>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "runner/questions/measurement_options.hpp"
#include "runner/scenario/schedule.hpp"

namespace ddpprof::questions {
namespace {

// What a measurement's options say of how its rates were made.
struct Said {
  explicit Said(std::string_view options)
      : all(options_of(options)),
        adascale(all.is_object() ? all.value("adascale", nlohmann::json()) : nlohmann::json()) {}

  // Only ranks that came to the end say where a resumed training began.
  bool tells_the_start(const scenario::Scenario& scenario) const {
    return scenario.checkpoint.resume.empty() ||
           (all.is_object() && (all.contains("resumed_step") || adascale.is_object()));
  }
  // Of the training's beginning where nothing is said.
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

// AdaScale once more, from the norms that the trace has: every step of a measurement is needed for the ones after it.
class Replay {
 public:
  Replay(const scenario::Scenario& scenario, std::int64_t samples) : scenario_(scenario), samples_(samples) {}

  std::optional<metrics::PlannedStep> operator()(const metrics::RecordedStep& step) {
    if (step.measurement != measurement_) begin(step);
    if (!adascale_ || step.step != next_++) return lost();
    // One rank without accumulation has no norms, and needs none.
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
    const Said said(step.options);
    if (step.number != 0 || !said.tells_the_start(scenario_)) return;
    try {
      adascale_.emplace(scenario::adascale_of(scenario_, step.workers, samples_, said.state()));
    } catch (const std::invalid_argument&) {
      // A file may claim what cannot be: none of its steps is checked.
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

std::vector<learning_rate::Doubt> doubts_of(const scenario::Scenario& scenario, std::int64_t workers,
                                            std::int64_t samples) {
  if (scenario.learning_rate.rule != learning_rate::Rule::adascale)
    return scenario::schedule_of(scenario, workers, samples).doubts;
  // It has no schedule before the training; that its gain moves is what it is for.
  const double kappa = learning_rate::unscaled(scenario::learning_rate_plan(scenario, workers, samples)).kappa;
  if (kappa < 1.0) return {learning_rate::Doubt::gain_below_one};
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
  std::optional<learning_rate::Schedule> schedule;  // nothing: not known
  return metrics::trained_rates(database,
                                [&](const metrics::RecordedStep& step) -> std::optional<metrics::PlannedStep> {
                                  if (step.measurement != measurement) {
                                    measurement = step.measurement;
                                    schedule.reset();
                                    const Said said(step.options);
                                    if (said.tells_the_start(scenario)) {
                                      auto plan = scenario::learning_rate_plan(scenario, step.workers, samples);
                                      plan.batches_span_epochs = spans_epochs(said.all);
                                      schedule = learning_rate::schedule_of(scenario.learning_rate.rule, plan);
                                    }
                                  }
                                  if (!schedule) return std::nullopt;
                                  return metrics::PlannedStep{schedule->lr_at(step.step), {}};
                                });
}

std::vector<std::string> rate_doubts(const scenario::Scenario& scenario) {
  if (!scenario.learning_rate.apply) return {};
  const auto samples = scenario.workload.data.known_samples();
  std::vector<std::pair<learning_rate::Doubt, std::string>> found;
  for (const std::int64_t workers : scenario.workers) {
    for (const learning_rate::Doubt doubt : doubts_of(scenario, workers, samples.value_or(1))) {
      if (!samples && doubt == learning_rate::Doubt::warmup_exceeds_training) continue;
      auto known = std::ranges::find(found, doubt, &std::pair<learning_rate::Doubt, std::string>::first);
      if (known == found.end()) known = found.insert(found.end(), {doubt, "N = "});
      known->second += (known->second.ends_with("= ") ? "" : ", ") + std::to_string(workers);
    }
  }
  std::vector<std::string> texts;
  for (const auto& [doubt, where] : found) texts.push_back(where + ": " + learning_rate::explain(doubt));
  return texts;
}

std::string rate_plan_text(const scenario::Scenario& scenario) {
  const scenario::LearningRate& rate = scenario.learning_rate;
  if (!rate.apply) return "the base rate in every step (learning_rate.apply is false)";
  return std::string("rule ") + word(rate.rule) + ", decay " + learning_rate::to_string(rate.decay.kind);
}

}  // namespace ddpprof::questions
