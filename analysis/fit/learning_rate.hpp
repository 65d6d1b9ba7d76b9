// Learning rates by rule for the options of predict.hpp: the plan of one N, and the square root's rows beside the
// linear.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/fit/predict.hpp"
#include "simulator/learning_rate/linear_rule.hpp"

namespace ddpprof::fit {

learning_rate::Plan plan_of(const LearningRateOptions&, std::int64_t workers);

// Why learning_rates has none for these options, whatever N is; nothing where it has some.
std::optional<std::string> why_no_rates(const LearningRateOptions&);

// As learning_rates, by the square-root rule (simulator/learning_rate/square_root_rule.hpp); `rule` is "square root".
std::vector<LearningRate> square_root_rates(const LearningRateOptions&);

}  // namespace ddpprof::fit
