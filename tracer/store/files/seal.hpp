// The seal of a database page: a checksum of eight bytes at the end of the page.
//
// A file with a changed bit in a row is still a valid SQLite file, but its numbers are wrong. Only a checksum over each
// page detects this. Seals protect against damage (disks, copies, memory), not against deliberate changes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace ddpprof::store {

inline constexpr std::size_t seal_bytes = 8;

// Computes the seal over the page without its last seal_bytes, and over the page's number in the file, counted from 1.
// A change within eight bytes that are aligned to eight always changes the seal. Another change is missed with a
// probability of 2^-64.
std::uint64_t seal_of(std::span<const unsigned char> page, std::uint64_t number);

// Writes the seal to the end of the page.
void seal(std::span<unsigned char> page, std::uint64_t number);
bool is_sealed(std::span<const unsigned char> page, std::uint64_t number);

}  // namespace ddpprof::store
