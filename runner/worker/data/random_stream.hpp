// Random number streams, one per kind and number: SplitMix64 (Steele, Lea, Flood 2014).
#pragma once

#include <cstdint>

namespace ddpprof::worker {

// The use of a stream. Streams of different kinds are independent. Do not change the values: the same seed would give
// other data.
enum class StreamKind : std::uint64_t {
  sample = 1,
  pattern = 2,
  teacher = 3,
  epoch = 4,
  place = 5,
  text = 11,
  mask = 12,
  number = 13,
  row = 14,
  answer = 15,
  label = 16,
  draw = 17
};

constexpr std::uint64_t random_stream(std::uint64_t seed, StreamKind kind, std::uint64_t number) {
  std::uint64_t z =
      seed + 0x9e3779b97f4a7c15ULL * (1 + number) + 0xbf58476d1ce4e5b9ULL * static_cast<std::uint64_t>(kind);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

}  // namespace ddpprof::worker
