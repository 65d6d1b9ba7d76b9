// Finds the brackets outside of strings in a block of JSON, 64 bytes at a time.
#pragma once

#include <cstdint>

namespace ddpprof::import {

inline bool is_json_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

// State carried from one block to the next.
struct StringState {
  bool inside = false;   // the next byte is in a string
  bool escaped = false;  // the next byte is escaped
};

struct BlockStructure {
  std::uint64_t brackets = 0;     // `{ } [ ]` outside of strings, one bit per byte
  std::uint64_t line_breaks = 0;  // raw line breaks in strings, which JSON does not allow: a quote is missing
};

// Reads exactly 64 bytes.
BlockStructure structure_of(const char* block, StringState& state);

}  // namespace ddpprof::import
