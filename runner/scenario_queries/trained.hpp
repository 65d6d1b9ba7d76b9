// Compares the learning rates of a file's trainings with those that its scenario asks for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/metrics/trained_rates.hpp"
#include "runner/scenario/scenario.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof::scenario_queries {

// `samples`: samples per epoch, from learning_rate_options. Throws store::DatabaseError, and std::invalid_argument if
// the scenario's schedule is impossible.
std::vector<metrics::TrainedRates> trained_rates(store::Database&, const scenario::Scenario&, std::int64_t samples);

// Returns warnings about the scenario's schedule, such as "N = 8, 16: the global batch exceeds …". Without a data set
// size in the scenario: only those that do not depend on it. The scenario must be valid.
std::vector<std::string> rate_warnings(const scenario::Scenario&);

// Returns text such as "rule linear, decay step", or that every step uses the base rate.
std::string rate_plan_text(const scenario::Scenario&);

}  // namespace ddpprof::scenario_queries
