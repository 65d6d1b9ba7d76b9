#include "tracer/store/files/seal.hpp"

#include <array>
#include <bit>
#include <cstring>

namespace ddpprof::store {
namespace {

// Odd, so that the multiplication is reversible; bits without a pattern.
constexpr std::uint64_t factor_a = 0x9e6c63d0676a9a99ULL, factor_b = 0xd1b54a32d192ed03ULL;

std::uint64_t little_endian(const unsigned char* bytes) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes, sizeof word);
  if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
  return word;
}

// Each step is reversible, so that different states stay different.
constexpr std::uint64_t stir(std::uint64_t state, std::uint64_t word) {
  return std::rotl((state ^ word) * factor_a, 29) * factor_b;
}

constexpr std::uint64_t finish(std::uint64_t state) {
  state = (state ^ (state >> 32)) * factor_a;
  state = (state ^ (state >> 29)) * factor_b;
  return state ^ (state >> 32);
}

}  // namespace

std::uint64_t seal_of(std::span<const unsigned char> page, std::uint64_t number) {
  // Four independent chains, because a processor multiplies several numbers at a time.
  std::array<std::uint64_t, 4> lanes{number, factor_a, factor_b, page.size()};
  const std::size_t words = (page.size() - seal_bytes) / 8;
  std::size_t at = 0;
  for (; at + 4 <= words; at += 4)
    for (std::size_t lane = 0; lane < 4; ++lane) lanes[lane] = stir(lanes[lane], little_endian(&page[8 * (at + lane)]));
  for (; at < words; ++at) lanes[at % 4] = stir(lanes[at % 4], little_endian(&page[8 * at]));
  std::uint64_t sum = 0;
  for (const std::uint64_t lane : lanes) sum = std::rotl(sum, 17) + finish(lane);
  return finish(sum);
}

void seal(std::span<unsigned char> page, std::uint64_t number) {
  std::uint64_t sum = seal_of(page, number);
  for (std::size_t i = 0; i < seal_bytes; ++i, sum >>= 8)
    page[page.size() - seal_bytes + i] = static_cast<unsigned char>(sum);
}

bool is_sealed(std::span<const unsigned char> page, std::uint64_t number) {
  return little_endian(&page[page.size() - seal_bytes]) == seal_of(page, number);
}

}  // namespace ddpprof::store
