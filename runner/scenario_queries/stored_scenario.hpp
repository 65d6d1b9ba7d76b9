// The scenario a trace database was measured with.
#pragma once

#include <optional>
#include <string>

#include "runner/scenario/scenario.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof::scenario_queries {

struct StoredScenario {
  std::string name;
  std::string text;  // as resolved, YAML
};
// The last scenario in the file, whether this program understands it or not. Throws store::DatabaseError.
std::optional<StoredScenario> stored_scenario_text(store::Database&);

// The last scenario in the file, every default filled in; none for bench-comm and imports. Throws fit::NotSupported
// when the stored text is no sound scenario for this program.
std::optional<scenario::Scenario> stored_scenario(store::Database&);

}  // namespace ddpprof::scenario_queries
