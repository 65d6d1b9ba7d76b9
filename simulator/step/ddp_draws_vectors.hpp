// Some draws at once, as vectors of the compiler's: every lane rounds alike, whatever registers the processor has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "simulator/step/ddp_draws_kernel.hpp"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wpsabi"  // everything here is inlined: no vector is passed in a call
#endif

namespace ddpprof::step::draws {

// Of `W` draws. Spelt out: a compiler may take a size that depends on a template's parameter for no size at all.
template <std::size_t W>
struct Types;

template <>
struct Types<2> {
  using Lanes = double __attribute__((vector_size(16)));
  using Mask = std::int64_t __attribute__((vector_size(16)));
  // The same in memory, wherever it lies.
  using InMemory = double __attribute__((vector_size(16), aligned(8), may_alias));
};

template <>
struct Types<4> {
  using Lanes = double __attribute__((vector_size(32)));
  using Mask = std::int64_t __attribute__((vector_size(32)));
  using InMemory = double __attribute__((vector_size(32), aligned(8), may_alias));
};

template <>
struct Types<8> {
  using Lanes = double __attribute__((vector_size(64)));
  using Mask = std::int64_t __attribute__((vector_size(64)));
  using InMemory = double __attribute__((vector_size(64), aligned(8), may_alias));
};

template <std::size_t W>
struct Vectors : Types<W> {
  using typename Types<W>::Lanes;
  using typename Types<W>::Mask;
  using typename Types<W>::InMemory;
  static_assert(sizeof(Lanes) == W * sizeof(double) && sizeof(Mask) == sizeof(Lanes));

  // Those from `first` on. By value: a reference to Lanes promises more alignment than there is.
  [[gnu::always_inline]] static Lanes load(const Values& values, std::size_t first) {
    return *reinterpret_cast<const InMemory*>(values.lane + first);
  }
  [[gnu::always_inline]] static void store(const Lanes& lanes, std::size_t first, Values& values) {
    *reinterpret_cast<InMemory*>(values.lane + first) = lanes;
  }
  [[gnu::always_inline]] static Lanes max(const Lanes& a, const Lanes& b) { return a > b ? a : b; }
  [[gnu::always_inline]] static Lanes min(const Lanes& a, const Lanes& b) { return a < b ? a : b; }
  [[gnu::always_inline]] static bool any(const Mask& mask) {
    if constexpr (W == 2) return (mask[0] | mask[1]) != 0;
    if constexpr (W == 4)
      return Vectors<2>::any(__builtin_shufflevector(mask, mask, 0, 1) | __builtin_shufflevector(mask, mask, 2, 3));
    if constexpr (W == 8)
      return Vectors<4>::any(__builtin_shufflevector(mask, mask, 0, 1, 2, 3) |
                             __builtin_shufflevector(mask, mask, 4, 5, 6, 7));
  }

  // exp(-x) for x >= 0, to the last digits; below 1e-304 it may stay there.
  [[gnu::always_inline]] static Lanes exp_of_minus(Lanes x) {
    const Lanes zero = {};
    x = min(x, zero + 700.0);
    // x = k ln 2 + r with |r| <= ln 2 / 2: adding 1.5 * 2^52 leaves k in the low bits.
    constexpr double round = 0x1.8p52, log2_e = 1.4426950408889634;
    constexpr double ln2_high = 0x1.62e42feep-1, ln2_low = 0x1.a39ef35793c76p-33;
    const Lanes shifted = x * log2_e + round, k = shifted - round;
    const Lanes minus_r = k * ln2_high - x + k * ln2_low;
    // Taylor's series to the 13th power, in pairs of pairs: a sum after another would wait for each.
    const Lanes r = minus_r, r2 = r * r, r4 = r2 * r2;
    const Lanes from_0 = (1.0 + r) + (1.0 / 2.0 + r * (1.0 / 6.0)) * r2;
    const Lanes from_4 = (1.0 / 24.0 + r * (1.0 / 120.0)) + (1.0 / 720.0 + r * (1.0 / 5040.0)) * r2;
    const Lanes from_8 = (1.0 / 40320.0 + r * (1.0 / 362880.0)) + (1.0 / 3628800.0 + r * (1.0 / 39916800.0)) * r2;
    const Lanes from_12 = 1.0 / 479001600.0 + r * (1.0 / 6227020800.0);
    const Lanes sum = (from_0 + from_4 * r4) + (from_8 + from_12 * r4) * (r4 * r4);
    const Mask exponent = 1023 - ((Mask)shifted - (Mask)(zero + round));
    return sum * (Lanes)(exponent << 52);
  }
};

}  // namespace ddpprof::step::draws
