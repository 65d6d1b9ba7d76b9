// What a message of LibTorch says, without the stack trace that it carries from the second line on.
#pragma once

#include <string>

namespace ddpprof::worker {

inline std::string first_line(const char* text) {
  const std::string whole(text);
  return whole.substr(0, whole.find('\n'));
}

}  // namespace ddpprof::worker
