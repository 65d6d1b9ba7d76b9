// The plan of one N, that the rules of simulator/learning_rate take, from the options of predict.hpp.
#pragma once

#include "analysis/predict/predict.hpp"
#include "simulator/learning_rate/linear_rule.hpp"

namespace ddpprof::fit {

learning_rate::Plan plan_of(const LearningRateOptions&, std::int64_t workers);

}  // namespace ddpprof::fit
