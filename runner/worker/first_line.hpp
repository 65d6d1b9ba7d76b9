// Returns the first line of a LibTorch message. The other lines are a stack trace.
#pragma once

#include <string>

namespace ddpprof::worker {

inline std::string first_line(const char* text) {
  const std::string whole(text);
  return whole.substr(0, whole.find('\n'));
}

}  // namespace ddpprof::worker
