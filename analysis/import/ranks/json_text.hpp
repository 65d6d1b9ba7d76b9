// Texts from JSON that another program, another version or another host may have written.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace ddpprof::ranks {

// Returns the text with this key. Returns "" if the key is missing, if its value is not a text, or if `json` is not an
// object.
inline std::string text_of(const nlohmann::json& json, const char* key) {
  const auto found = json.find(key);  // end() if `json` is not an object
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

}  // namespace ddpprof::ranks
