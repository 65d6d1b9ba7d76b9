// Which bytes of a block of JSON are brackets outside of strings: 64 bytes at a time.
#pragma once

#include <cstdint>

namespace ddpprof::import {

inline bool is_json_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

// Carried from one block to the next.
struct StringState {
  bool inside = false;   // the next byte stands in a string
  bool escaped = false;  // … and is escaped
};

struct BlockStructure {
  std::uint64_t brackets = 0;     // `{ } [ ]` outside of strings, a bit a byte
  std::uint64_t line_breaks = 0;  // raw line breaks inside of strings, where JSON allows none: a quote is missing
};

// Reads exactly 64 bytes.
BlockStructure structure_of(const char* block, StringState& state);

}  // namespace ddpprof::import
