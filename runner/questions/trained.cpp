#include "runner/questions/trained.hpp"

#include <map>

#include "runner/scenario/schedule.hpp"

namespace ddpprof::questions {

std::vector<report::TrainedRates> trained_rates(store::Database& database, const scenario::Scenario& scenario,
                                                std::int64_t samples) {
  const double base = scenario.learning_rate.base;
  if (!scenario.learning_rate.apply)
    return report::trained_rates(database, [base](std::int64_t, std::int64_t) { return base; });
  std::map<std::int64_t, learning_rate::Schedule> schedules;
  return report::trained_rates(database, [&](std::int64_t workers, std::int64_t step) {
    auto known = schedules.find(workers);
    if (known == schedules.end())
      known = schedules.emplace(workers, scenario::schedule_of(scenario, workers, samples)).first;
    return known->second.lr_at(step);
  });
}

std::string rate_plan_text(const scenario::Scenario& scenario) {
  const scenario::LearningRate& rate = scenario.learning_rate;
  if (!rate.apply) return "the base rate in every step (learning_rate.apply is false)";
  return std::string("rule ") + to_string(rate.rule) + ", decay " + learning_rate::to_string(rate.decay.kind);
}

}  // namespace ddpprof::questions
