#include "analysis/import/json/decimal.hpp"

#include <limits>

namespace ddpprof::import {
namespace {

struct Decimal {
  bool negative = false;
  std::uint64_t digits = 0;  // the digits without the decimal point
  int scale = 0;             // value = digits × 10^scale
  bool tail = false;         // true if cut digits behind `digits` are not all zero
  bool tail_half = false;    // true if the first cut digit is 5 or more
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::optional<Decimal> parse(std::string_view text) {
  while (!text.empty() && (text.back() == ' ' || text.back() == '\n' || text.back() == '\r' || text.back() == '\t'))
    text.remove_suffix(1);
  Decimal number;
  std::size_t at = 0;
  if (at < text.size() && text[at] == '-') {
    number.negative = true;
    ++at;
  }
  constexpr std::uint64_t full = std::numeric_limits<std::uint64_t>::max() / 10 - 1;
  std::size_t count = 0;
  bool point = false, cut = false;
  for (; at < text.size(); ++at) {
    if (text[at] == '.') {
      if (point || count == 0) return std::nullopt;
      point = true;
      if (at + 1 >= text.size() || !is_digit(text[at + 1])) return std::nullopt;
      continue;
    }
    if (!is_digit(text[at])) break;
    ++count;
    const auto digit = static_cast<std::uint64_t>(text[at] - '0');
    if (!cut && number.digits <= full) {
      number.digits = number.digits * 10 + digit;
      if (point) --number.scale;
      continue;
    }
    if (!cut) number.tail_half = digit >= 5;
    cut = true;
    number.tail = number.tail || digit != 0;
    if (!point) ++number.scale;
  }
  if (count == 0) return std::nullopt;
  if (at == text.size()) return number;
  if (text[at] != 'e' && text[at] != 'E') return std::nullopt;
  ++at;
  bool down = false;
  if (at < text.size() && (text[at] == '+' || text[at] == '-')) down = text[at++] == '-';
  if (at == text.size()) return std::nullopt;
  int exponent = 0;
  for (; at < text.size(); ++at) {
    if (!is_digit(text[at])) return std::nullopt;
    if (exponent < 100000) exponent = exponent * 10 + (text[at] - '0');
  }
  number.scale += down ? -exponent : exponent;
  return number;
}

// Returns digits * 10^(scale + shift): rounded to the nearest if `rounds`, otherwise none if it is not whole.
std::optional<std::int64_t> to_integer(const Decimal& number, int shift, bool rounds) {
  constexpr auto limit = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  std::uint64_t value = number.digits;
  int scale = number.scale + shift;
  bool half = number.tail_half, rest = number.tail;
  for (; scale > 0 && value != 0; --scale) {
    if (value > (limit + 1) / 10) return std::nullopt;
    value *= 10;
    half = false;  // cut digits stand below the digits that remain
  }
  for (; scale < 0 && (value != 0 || half || rest); ++scale) {
    rest = rest || half || value % 10 != 0;
    half = value % 10 >= 5;
    value /= 10;
    if (value == 0 && !half) break;
  }
  if (!rounds && rest) return std::nullopt;
  if (rounds && half) ++value;
  if (value > limit + (number.negative ? 1 : 0)) return std::nullopt;
  return static_cast<std::int64_t>(number.negative ? ~value + 1 : value);
}

}  // namespace

std::optional<std::int64_t> microseconds_to_ns(std::string_view text) {
  const std::optional<Decimal> number = parse(text);
  return number ? to_integer(*number, 3, true) : std::nullopt;
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  const std::optional<Decimal> number = parse(text);
  return number ? to_integer(*number, 0, false) : std::nullopt;
}

}  // namespace ddpprof::import
