// A small NVTX tool inside the test program: it records the worker's annotations with thread and time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ddpprof::test {

enum class Kind { push, pop, mark, start, end };

struct Recorded {
  Kind kind;
  std::string name;      // empty for pop and end
  std::int64_t time_ns;  // CLOCK_MONOTONIC
  std::int64_t thread;   // os thread id
  std::uint64_t range;   // start, end
  std::vector<unsigned char> payload;

  template <typename T>
  T as() const {
    T value{};
    if (payload.size() == sizeof(T)) __builtin_memcpy(&value, payload.data(), sizeof(T));
    return value;
  }
};

std::vector<Recorded> take_recorded();  // also clears the list

}  // namespace ddpprof::test
