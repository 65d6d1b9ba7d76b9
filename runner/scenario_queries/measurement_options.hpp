// What a measurement's options (measurement.options, JSON) say. Internal to scenario_queries.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

namespace ddpprof::scenario_queries {

// No object where the text is none: a damaged file says nothing.
inline nlohmann::json options_of(std::string_view text) {
  return nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
}

// Whether the schedule was trained with batches that go on from one epoch into the next; in files of earlier versions
// an epoch's last batch was a whole one.
inline bool spans_epochs(const nlohmann::json& options) {
  return options.is_object() && options.contains("batches_span_epochs");
}

}  // namespace ddpprof::scenario_queries
