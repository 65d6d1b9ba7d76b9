// The seal of a database page: eight bytes at its end that no other content of the page, and no other page, has.
//
// A changed bit in a row still makes a sound SQLite file, whose answers are wrong: only a sum over each page tells. It
// guards against damage (disks, copies, memory), not against somebody who means to deceive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace ddpprof::store {

inline constexpr std::size_t seal_bytes = 8;

// Over all of the page but its last seal_bytes, and its number in the file, from 1. Every change of at most eight
// neighbouring bytes, aligned to eight, changes it for sure; any other one but for one in 2^64.
std::uint64_t seal_of(std::span<const unsigned char> page, std::uint64_t number);

// Writes the seal into the page's end.
void seal(std::span<unsigned char> page, std::uint64_t number);
bool is_sealed(std::span<const unsigned char> page, std::uint64_t number);

}  // namespace ddpprof::store
