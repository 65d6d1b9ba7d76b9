// Limits for values in files, and sums and products that do not overflow: a damaged file may hold any value.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>

#include "tracer/format/step_name.hpp"

namespace ddpprof::import {

// Later times (from the year 2112 on, as nanoseconds since 1970) and spans of more than two years are treated as
// damage. So the difference of two times, and the difference of two such differences, fit 64 bits.
inline constexpr std::int64_t latest_ns = std::int64_t{9} << 59;
inline constexpr std::int64_t earliest_ns = -(std::int64_t{1} << 56);
inline constexpr std::int64_t longest_ns = std::int64_t{1} << 56;

inline bool sound_time(std::int64_t start_ns, std::int64_t end_ns) {
  return start_ns >= earliest_ns && end_ns < latest_ns && end_ns - start_ns <= longest_ns;
}

inline constexpr std::int64_t most_ranks_of_a_job = std::int64_t{1} << 24;  // larger than any cluster
using vocabulary::most_steps;                                               // limit of a step's number
inline constexpr std::int64_t most_samples = std::int64_t{1} << 31;         // of one micro-batch
inline constexpr std::int64_t most_bytes = std::int64_t{1} << 50;           // of one message: a petabyte

// Returns the sum of two numbers that are not negative, at most 2^61, so that twice a sum does not overflow.
inline std::int64_t sum_of(std::int64_t a, std::int64_t b) {
  constexpr std::int64_t most = std::int64_t{1} << 61;
  std::int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? most : std::min(sum, most);
}

// Returns 0 if a factor is negative or the product exceeds 64 bits.
inline std::int64_t product_of(std::initializer_list<std::int64_t> factors) {
  std::int64_t product = 1;
  for (const std::int64_t factor : factors)
    if (factor < 0 || __builtin_mul_overflow(product, factor, &product)) return 0;
  return product;
}

}  // namespace ddpprof::import
