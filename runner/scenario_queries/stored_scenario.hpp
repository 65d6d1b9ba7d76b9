// The scenario a trace database was measured with.
#pragma once

#include <optional>
#include <string>

#include "analysis/predict/predict.hpp"
#include "runner/scenario/scenario.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof::scenario_queries {

struct StoredScenario {
  std::string name;
  std::string text;  // YAML, every default filled in
};
// Returns the last scenario in the file, unchecked. Throws store::DatabaseError.
std::optional<StoredScenario> stored_scenario_text(store::Database&);

// Returns the last scenario in the file, every default filled in; nullopt for bench-comm and imports, and for a user's own
// command, whose model, batch and rate are not in the scenario. Throws fit::NotSupported if the stored text is not a
// valid scenario of this version.
std::optional<scenario::Scenario> stored_scenario(store::Database&);

// Returns the options of predictions of the last scenario in the file, also of a user's own command; nullopt without a
// scenario. Throws fit::NotSupported, as stored_scenario().
std::optional<fit::PredictOptions> stored_predict_options(store::Database&);

}  // namespace ddpprof::scenario_queries
