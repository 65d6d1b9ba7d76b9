// What can be wrong with an export of ours that is to be restored, and where it stands in the file.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace ddpprof::import {

// The message names the file and the place in it, what was expected, and what to do.
struct OwnExportError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Place {
  std::string_view file;
  std::string_view unit;  // "line", "byte", "row"
  std::uint64_t at = 0;   // lines and rows from 1, bytes from 0
  std::string text() const { return std::string(file) + ", " + std::string(unit) + " " + std::to_string(at) + ": "; }
};

}  // namespace ddpprof::import
