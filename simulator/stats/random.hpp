// A seeded random generator whose every draw is the same on every machine and standard library.
//
// SplitMix64 (Steele, Lea, Flood 2014). The standard library's distributions are avoided: their results differ
// between implementations. Not for cryptography.
#pragma once

#include <cstdint>

namespace ddpprof::stats {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }

  // In (0, 1): the middle of one of 2^53 equal cells, so that neither end is ever returned.
  double uniform() { return (static_cast<double>(next() >> 11) + 0.5) * 0x1.0p-53; }

  // In [0, count), every value equally likely; `count` > 0.
  std::uint64_t below(std::uint64_t count) {
    const std::uint64_t unfair = (0 - count) % count;  // 2^64 mod count draws would be handed out once too often
    std::uint64_t drawn = next();
    while (drawn < unfair) drawn = next();
    return drawn % count;
  }

  double normal();  // mean 0, standard deviation 1, by inversion

 private:
  std::uint64_t state_;
};

}  // namespace ddpprof::stats
