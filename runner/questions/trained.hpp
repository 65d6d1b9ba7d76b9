// The learning rates that a file's measurements trained with, beside those that its scenario asked for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/metrics/trained_rates.hpp"
#include "runner/scenario/scenario.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof::questions {

// `samples`: of one epoch, as learning_rate_options has them. Throws store::DatabaseError, and std::invalid_argument
// where the scenario's schedule cannot be.
std::vector<metrics::TrainedRates> trained_rates(store::Database&, const scenario::Scenario&, std::int64_t samples);

// What is doubtful about training by the scenario's schedule, "N = 8, 16: the global batch exceeds …" each; of a data
// set whose size the scenario does not say only what does not depend on it. The scenario is a sound one.
std::vector<std::string> rate_doubts(const scenario::Scenario&);

// "rule linear, decay step", or that every step takes the base rate.
std::string rate_plan_text(const scenario::Scenario&);

}  // namespace ddpprof::questions
