// How deep JSON may nest that comes from a program's payloads or from a file: what walks through a value calls itself
// for each level, and the stack has an end.
#pragma once

#include <cstddef>
#include <string_view>

namespace ddpprof::export_ {

inline constexpr int max_json_depth = 64;

// Whether arrays and objects lie within each other more than `limit` times. Of a text that is no JSON: maybe.
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
