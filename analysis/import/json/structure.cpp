#include "analysis/import/json/structure.hpp"

#include <bit>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace ddpprof::import {
namespace {

struct Masks {
  std::uint64_t quotes = 0, backslashes = 0, brackets = 0, breaks = 0;
};

#ifdef __SSE2__
std::uint64_t equal(__m128i bytes, char to, int quarter) {
  const auto bits = static_cast<std::uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(to))));
  return static_cast<std::uint64_t>(bits) << (16 * quarter);
}

Masks masks_of(const char* block) {
  Masks masks;
  for (int quarter = 0; quarter < 4; ++quarter) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(block + 16 * quarter));
    // '[' and '{' differ in one bit, as do ']' and '}'.
    const __m128i folded = _mm_or_si128(bytes, _mm_set1_epi8(0x20));
    masks.quotes |= equal(bytes, '"', quarter);
    masks.backslashes |= equal(bytes, '\\', quarter);
    masks.breaks |= equal(bytes, '\n', quarter);
    masks.brackets |= equal(folded, '{', quarter) | equal(folded, '}', quarter);
  }
  return masks;
}
#else
Masks masks_of(const char* block) {
  Masks masks;
  for (int i = 0; i < 64; ++i) {
    const std::uint64_t bit = std::uint64_t{1} << i;
    const char c = block[i];
    if (c == '"') masks.quotes |= bit;
    if (c == '\\') masks.backslashes |= bit;
    if (c == '\n') masks.breaks |= bit;
    if (c == '{' || c == '}' || c == '[' || c == ']') masks.brackets |= bit;
  }
  return masks;
}
#endif

// Returns the bytes that are escaped by a backslash before them.
std::uint64_t escaped_bytes(std::uint64_t backslashes, bool& escaped) {
  std::uint64_t result = escaped ? 1 : 0;
  if (escaped) backslashes &= ~std::uint64_t{1};
  escaped = false;
  while (backslashes != 0) {
    const int at = std::countr_zero(backslashes);
    if (at == 63) {
      escaped = true;
      break;
    }
    result |= std::uint64_t{2} << at;
    backslashes &= ~(std::uint64_t{3} << at);
  }
  return result;
}

// Each bit is the parity of the bits up to it.
std::uint64_t parity(std::uint64_t bits) {
  for (int shift = 1; shift < 64; shift *= 2) bits ^= bits << shift;
  return bits;
}

}  // namespace

BlockStructure structure_of(const char* block, StringState& state) {
  Masks masks = masks_of(block);
  if (masks.backslashes != 0 || state.escaped) masks.quotes &= ~escaped_bytes(masks.backslashes, state.escaped);
  std::uint64_t inside = parity(masks.quotes);
  if (state.inside) inside = ~inside;
  state.inside = (inside >> 63) != 0;
  return {masks.brackets & ~inside, masks.breaks & inside};
}

}  // namespace ddpprof::import
