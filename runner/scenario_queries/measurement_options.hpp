// Reads a measurement's options (measurement.options, JSON). Internal to scenario_queries.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

namespace ddpprof::scenario_queries {

// Returns an empty object if the text is not an object: the file may be damaged.
inline nlohmann::json options_of(std::string_view text) {
  return nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
}

// Returns true if batches continued from one epoch into the next in training. In files of earlier versions the last
// batch of an epoch was a full one.
inline bool spans_epochs(const nlohmann::json& options) {
  return options.is_object() && options.contains("batches_span_epochs");
}

}  // namespace ddpprof::scenario_queries
