// Limits the nesting of JSON from payloads or files. Code that walks through a value recurses for each level, and the
// stack is limited.
#pragma once

#include <cstddef>
#include <string_view>

namespace ddpprof::export_ {

inline constexpr int max_json_depth = 64;

// Returns true if arrays and objects are nested more than `limit` deep. For text that is not JSON either result is
// possible.
inline bool nests_deeper(std::string_view json, int limit = max_json_depth) {
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (quoted && c == '\\') {
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (!quoted && (c == '[' || c == '{')) {
      if (++depth > limit) return true;
    } else if (!quoted && (c == ']' || c == '}')) {
      --depth;
    }
  }
  return false;
}

}  // namespace ddpprof::export_
