// Bounds of what a file may say and sums that stay numbers: a damaged one says anything.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>

#include "tracer/format/step_name.hpp"

namespace ddpprof::import {

// Times from here on are damage (the year 2112, as nanoseconds since 1970), as are lengths of more than two years: so
// differences of times, and differences of those, fit 64 bits.
inline constexpr std::int64_t latest_ns = std::int64_t{9} << 59;
inline constexpr std::int64_t earliest_ns = -(std::int64_t{1} << 56);
inline constexpr std::int64_t longest_ns = std::int64_t{1} << 56;

inline bool sound_time(std::int64_t start_ns, std::int64_t end_ns) {
  return start_ns >= earliest_ns && end_ns < latest_ns && end_ns - start_ns <= longest_ns;
}

inline constexpr std::int64_t most_ranks_of_a_job = std::int64_t{1} << 24;  // beyond any cluster
using vocabulary::most_steps;                                               // a step's number
inline constexpr std::int64_t most_samples = std::int64_t{1} << 31;         // of one micro-batch
inline constexpr std::int64_t most_bytes = std::int64_t{1} << 50;           // of one message: a petabyte

// Of numbers that are not negative; stops at 2^61, so that twice a sum is still a number.
inline std::int64_t sum_of(std::int64_t a, std::int64_t b) {
  constexpr std::int64_t most = std::int64_t{1} << 61;
  std::int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? most : std::min(sum, most);
}

// 0 where a factor is negative, or the product is no 64-bit number.
inline std::int64_t product_of(std::initializer_list<std::int64_t> factors) {
  std::int64_t product = 1;
  for (const std::int64_t factor : factors)
    if (factor < 0 || __builtin_mul_overflow(product, factor, &product)) return 0;
  return product;
}

}  // namespace ddpprof::import
