// Decimal text to nanoseconds: hand-counted cases, and many more compared with 128-bit integers.
#include "analysis/import/json/decimal.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <random>
#include <string>

namespace ddpprof::import {
namespace {

__extension__ using Wide = unsigned __int128;
__extension__ using SignedWide = __int128;

constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();

TEST(Decimal, MicrosecondsKeepEveryDigit) {
  // A double of this size is off by hundreds of nanoseconds.
  EXPECT_EQ(microseconds_to_ns("1669783687464181"), 1669783687464181000);
  EXPECT_EQ(microseconds_to_ns("1669783687464181.001"), 1669783687464181001);
  EXPECT_EQ(microseconds_to_ns("4458676522690.655"), 4458676522690655);
  EXPECT_EQ(microseconds_to_ns("4458676522690.6"), 4458676522690600);
  EXPECT_EQ(microseconds_to_ns("0"), 0);
  EXPECT_EQ(microseconds_to_ns("-0.001"), -1);
  EXPECT_EQ(microseconds_to_ns("-12.5"), -12500);
  EXPECT_EQ(microseconds_to_ns("5 \n"), 5000) << "white space after it";
}

TEST(Decimal, BeyondNanosecondsTheNearestHalvesAwayFromZero) {
  EXPECT_EQ(microseconds_to_ns("1.0004"), 1000);
  EXPECT_EQ(microseconds_to_ns("1.0005"), 1001);
  EXPECT_EQ(microseconds_to_ns("1.00049999999999999999999999999"), 1000);
  EXPECT_EQ(microseconds_to_ns("-1.0005"), -1001);
  EXPECT_EQ(microseconds_to_ns("-1.0004"), -1000);
  EXPECT_EQ(microseconds_to_ns("0.0004999"), 0);
  EXPECT_EQ(microseconds_to_ns("0.0005"), 1);
  EXPECT_EQ(microseconds_to_ns("0.9995"), 1000);
  EXPECT_EQ(microseconds_to_ns("1844674407370955.1615"), 1844674407370955162) << "20 digits, which exceed 64 bits";
  EXPECT_EQ(microseconds_to_ns("1844674407370955.16149"), 1844674407370955161);
}

TEST(Decimal, Exponents) {
  EXPECT_EQ(microseconds_to_ns("1.5e3"), 1500000);
  EXPECT_EQ(microseconds_to_ns("1.5E+3"), 1500000);
  EXPECT_EQ(microseconds_to_ns("1500e-3"), 1500);
  EXPECT_EQ(microseconds_to_ns("4.458676522690655e+12"), 4458676522690655);
  EXPECT_EQ(microseconds_to_ns("5e-4"), 1);
  EXPECT_EQ(microseconds_to_ns("4e-4"), 0);
  EXPECT_EQ(microseconds_to_ns("1e-99999999999999"), 0);
  EXPECT_EQ(microseconds_to_ns("0e99999999999999"), 0);
  EXPECT_EQ(microseconds_to_ns("1e99999999999999"), std::nullopt);
}

TEST(Decimal, WhatInt64CannotHoldIsNone) {
  EXPECT_EQ(microseconds_to_ns("9223372036854775.807"), largest);
  EXPECT_EQ(microseconds_to_ns("9223372036854775.8074"), largest);
  EXPECT_EQ(microseconds_to_ns("9223372036854775.8075"), std::nullopt);
  EXPECT_EQ(microseconds_to_ns("9223372036854775.808"), std::nullopt);
  EXPECT_EQ(microseconds_to_ns("-9223372036854775.808"), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(microseconds_to_ns("-9223372036854775.809"), std::nullopt);
  EXPECT_EQ(microseconds_to_ns(std::string(400, '9')), std::nullopt);
  EXPECT_EQ(whole_number("9223372036854775807"), largest);
  EXPECT_EQ(whole_number("9223372036854775808"), std::nullopt);
  EXPECT_EQ(whole_number("-9223372036854775808"), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(whole_number("18446744073709551615"), std::nullopt);
  EXPECT_EQ(whole_number("18446744073709551616"), std::nullopt);
}

TEST(Decimal, WhatIsNoNumberIsNone) {
  for (const char* text : {"",   " ",    "-",   "NaN",   "nan",   "Infinity", "-Infinity", "inf",   "null",  "true",
                           "e5", "1e",   "1e+", "1e5.0", "12us",  ".5",       "1.",        "1..2",  "1.2.3", "--1",
                           "+1", "0x10", "1 2", "1,5",   "\"1\"", "[1]",      "{}",        "1e--5", " 1",    "-e1"}) {
    EXPECT_EQ(microseconds_to_ns(text), std::nullopt) << text;
    EXPECT_EQ(whole_number(text), std::nullopt) << text;
  }
  EXPECT_EQ(microseconds_to_ns(std::string_view("1\0", 2)), std::nullopt);
}

TEST(Decimal, WholeNumbersHaveNoFraction) {
  EXPECT_EQ(whole_number("3"), 3);
  EXPECT_EQ(whole_number("3.000"), 3);
  EXPECT_EQ(whole_number("3e2"), 300);
  EXPECT_EQ(whole_number("300e-2"), 3);
  EXPECT_EQ(whole_number("-7"), -7);
  EXPECT_EQ(whole_number("3.5"), std::nullopt);
  EXPECT_EQ(whole_number("35e-1"), std::nullopt);
  EXPECT_EQ(whole_number("0.00000000000000000000000000001"), std::nullopt);
}

// Returns digits * 10^scale in nanoseconds, rounded to the nearest, halves away from zero; none beyond int64.
std::optional<std::int64_t> judged(bool negative, Wide digits, int scale, bool rounds) {
  bool exact = true, up = false;
  for (; scale > 0; --scale) {
    if (digits > (static_cast<Wide>(1) << 100)) return std::nullopt;
    digits *= 10;
  }
  Wide unit = 1;
  for (; scale < 0; ++scale) unit *= 10;
  exact = digits % unit == 0;
  up = digits % unit >= (unit + 1) / 2 && unit > 1;
  digits /= unit;
  if (!rounds && !exact) return std::nullopt;
  if (rounds && up) ++digits;
  const auto limit = static_cast<Wide>(static_cast<std::uint64_t>(largest)) + (negative ? 1 : 0);
  if (digits > limit) return std::nullopt;
  const auto value = static_cast<SignedWide>(digits);
  return static_cast<std::int64_t>(negative ? -value : value);
}

TEST(Decimal, AgreesWithIntegersOf128Bits) {
  std::mt19937_64 random(20);
  const auto draw = [&](std::uint64_t below) { return random() % below; };
  int whole_found = 0, none_found = 0;
  for (int i = 0; i < 200'000; ++i) {
    const bool negative = draw(4) == 0;
    std::string text = negative ? "-" : "";
    Wide digits = 0;
    const auto digit = [&] {
      // Many zeros, fives and nines, because these decide the rounding.
      static constexpr std::string_view likely = "0000555499123456789";
      const char c = likely[draw(likely.size())];
      digits = digits * 10 + static_cast<unsigned>(c - '0');
      return c;
    };
    for (std::uint64_t n = 1 + draw(20); n > 0; --n) text += digit();
    int scale = 0;
    if (draw(3) != 0) {
      text += '.';
      for (std::uint64_t n = 1 + draw(12); n > 0; --n, --scale) text += digit();
    }
    if (draw(4) == 0) {
      const int exponent = static_cast<int>(draw(13)) - 6;
      text += "e" + std::to_string(exponent);
      scale += exponent;
    }
    const auto nanoseconds = judged(negative, digits, scale + 3, true), whole = judged(negative, digits, scale, false);
    ASSERT_EQ(microseconds_to_ns(text), nanoseconds) << text;
    ASSERT_EQ(whole_number(text), whole) << text;
    whole_found += whole ? 1 : 0;
    none_found += nanoseconds ? 0 : 1;
  }
  EXPECT_GT(whole_found, 1000);
  EXPECT_GT(none_found, 1000);
}

}  // namespace
}  // namespace ddpprof::import
