// Several draws at once, as the compiler's vector types: every lane rounds in the same way with every kind of register.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include "simulator/step/ddp_draws_kernel.hpp"

#if defined(__GNUC__) && !defined(__clang__)
#if defined(__x86_64__)
#include <immintrin.h>  // without it GCC does not know the instructions by name
#define DDPPROF_MASK_REGISTERS 1
#endif
#pragma GCC diagnostic ignored "-Wpsabi"  // everything here is inlined: no vector is passed in a call
#endif

namespace ddpprof::step::draws {

// Vector types of `W` draws. They are spelled out because a compiler may ignore a size that depends on a template
// parameter.
template <std::size_t W>
struct Types;

template <>
struct Types<2> {
  using Lanes = double __attribute__((vector_size(16)));
  using Whole = std::int64_t __attribute__((vector_size(16)));
};

template <>
struct Types<4> {
  using Lanes = double __attribute__((vector_size(32)));
  using Whole = std::int64_t __attribute__((vector_size(32)));
};

template <>
struct Types<8> {
  using Lanes = double __attribute__((vector_size(64)));
  using Whole = std::int64_t __attribute__((vector_size(64)));
};

// Selections of draws: a vector with -1 for the selected draws.
template <std::size_t W>
struct Choices {
  using Lanes = typename Types<W>::Lanes;
  using Mask = typename Types<W>::Whole;

  [[gnu::always_inline]] static Mask less(const Lanes& a, const Lanes& b) { return a < b; }
  [[gnu::always_inline]] static Mask less_or_equal(const Lanes& a, const Lanes& b) { return a <= b; }
  [[gnu::always_inline]] static Lanes choose(const Mask& mask, const Lanes& a, const Lanes& b) { return mask ? a : b; }
  [[gnu::always_inline]] static Lanes max(const Lanes& a, const Lanes& b) { return a > b ? a : b; }
  [[gnu::always_inline]] static Lanes min(const Lanes& a, const Lanes& b) { return a < b ? a : b; }
  [[gnu::always_inline]] static bool any(const Mask& mask) {
    if constexpr (W == 2) return (mask[0] | mask[1]) != 0;
    if constexpr (W == 4)
      return Choices<2>::any(__builtin_shufflevector(mask, mask, 0, 1) | __builtin_shufflevector(mask, mask, 2, 3));
    if constexpr (W == 8)
      return Choices<4>::any(__builtin_shufflevector(mask, mask, 0, 1, 2, 3) |
                             __builtin_shufflevector(mask, mask, 4, 5, 6, 7));
  }
};

#ifdef DDPPROF_MASK_REGISTERS
// GCC compares 512 bits into a register of 8 bits. If it cannot keep the result there, for example because two choices
// use it, it handles the draws one by one. These functions name the instructions instead.
struct Bits {
  unsigned char bits;

  [[gnu::always_inline]] Bits operator&(const Bits& other) const { return of(bits & other.bits); }
  [[gnu::always_inline]] Bits operator^(const Bits& other) const { return of(bits ^ other.bits); }
  [[gnu::always_inline]] Bits operator~() const { return of(~bits); }
  [[gnu::always_inline]] static Bits of(int bits) { return {static_cast<unsigned char>(bits)}; }
};

template <>
struct Choices<8> {
  using Lanes = typename Types<8>::Lanes;
  using Mask = Bits;
  static constexpr unsigned char all = 0xff;
  static constexpr int less_than = 1, at_most = 2, round_as_usual = 4;

  [[gnu::always_inline]] static Mask less(const Lanes& a, const Lanes& b) {
    return {__builtin_ia32_cmppd512_mask(a, b, less_than, all, round_as_usual)};
  }
  [[gnu::always_inline]] static Mask less_or_equal(const Lanes& a, const Lanes& b) {
    return {__builtin_ia32_cmppd512_mask(a, b, at_most, all, round_as_usual)};
  }
  [[gnu::always_inline]] static Lanes choose(const Mask& mask, const Lanes& a, const Lanes& b) {
    return __builtin_ia32_blendmpd_512_mask(b, a, mask.bits);
  }
  [[gnu::always_inline]] static Lanes max(const Lanes& a, const Lanes& b) {
    return __builtin_ia32_maxpd512_mask(a, b, a, all, round_as_usual);
  }
  [[gnu::always_inline]] static Lanes min(const Lanes& a, const Lanes& b) {
    return __builtin_ia32_minpd512_mask(a, b, a, all, round_as_usual);
  }
  [[gnu::always_inline]] static bool any(const Mask& mask) { return mask.bits != 0; }
};
#endif

template <std::size_t W>
struct Vectors : Types<W>, Choices<W> {
  using typename Types<W>::Lanes;
  using typename Types<W>::Whole;
  using typename Choices<W>::Mask;
  using Choices<W>::min;
  static_assert(sizeof(Lanes) == W * sizeof(double) && sizeof(Whole) == sizeof(Lanes));

  // Loads the values from `first` on. Returns by value: a reference to Lanes would promise more alignment than there
  // is.
  [[gnu::always_inline]] static Lanes load(const Values& values, std::size_t first) {
    Lanes lanes;
    std::memcpy(&lanes, values.lane + first, sizeof(Lanes));
    return lanes;
  }
  [[gnu::always_inline]] static void store(const Lanes& lanes, std::size_t first, Values& values) {
    std::memcpy(values.lane + first, &lanes, sizeof(Lanes));
  }

  // exp(-x) for x >= 0, within x 2^-52 + 1e-15 of itself; below 1e-304 it may stay there.
  [[gnu::always_inline]] static Lanes exp_of_minus(Lanes x) {
    const Lanes zero = {};
    x = min(x, zero + 700.0);
    // x = k ln 2 - r with |r| <= ln 2 / 2: adding 1.5 * 2^52 leaves k in the low bits.
    constexpr double round = 0x1.8p52, log2_e = 1.4426950408889634, ln2 = 0.6931471805599453;
    const Lanes shifted = x * log2_e + round;
    const Lanes r = (shifted - round) * ln2 - x, r2 = r * r, r4 = r2 * r2;
    // The polynomial of degree 10 that begins with 1 + r and has the least relative error on this range, 3e-16. It is
    // evaluated in pairs of pairs, because a sum after another would wait for each.
    const Lanes from_0 = (1.0 + r) + (0x1.ffffffffffed2p-2 + r * 0x1.55555555507c6p-3) * r2;
    const Lanes from_4 =
        (0x1.55555555890c1p-5 + r * 0x1.11111125b3d08p-7) + (0x1.6c16c0c830faep-10 + r * 0x1.a0198d58a0d53p-13) * r2;
    const Lanes from_8 = (0x1.a01b7c511c560p-16 + r * 0x1.72e91aa982060p-19) + 0x1.2707a3ec1e373p-22 * r2;
    const Lanes sum = (from_0 + from_4 * r4) + from_8 * (r4 * r4);
    return (Lanes)((Whole)sum - ((Whole)shifted << 52));  // by 2^-k
  }

  // Returns the absolute values.
  [[gnu::always_inline]] static Lanes size(const Lanes& x) {
    return (Lanes)((Whole)x & std::numeric_limits<std::int64_t>::max());
  }
};

}  // namespace ddpprof::step::draws
