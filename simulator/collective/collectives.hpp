// Cost of the two halves of a ring all-reduce, alone on their links: closed forms, split like those of an all-reduce.
//
// N: ranks. S: bytes of the whole vector, which every rank holds after an all-gather and before a reduce-scatter. Both
// forms are 0 for one rank. Throws std::invalid_argument if N < 1 or S < 0.
#pragma once

#include <cstdint>

#include "simulator/collective/all_reduce.hpp"

namespace ddpprof::collective {

// Thakur, Rabenseifner, Gropp 2005.
Cost ring_reduce_scatter(std::int64_t workers, double message_bytes, const Link&);  // (N-1)(alpha + S/N (beta + gamma))
Cost ring_all_gather(std::int64_t workers, double message_bytes, const Link&);      // (N-1)(alpha + S/N beta)

}  // namespace ddpprof::collective
