// Cost of the other collectives, alone on their links: closed forms, split like those of an all-reduce.
//
// N: ranks. Message bytes are those of the whole vector, which every rank holds after an all-gather and before a
// reduce-scatter. Every form is 0 for one rank. Throws std::invalid_argument if N < 1 or the bytes are below 0.
#pragma once

#include <cstdint>

#include "simulator/collective/all_reduce.hpp"

namespace ddpprof::collective {

// Rings (Thakur, Rabenseifner, Gropp 2005): the two halves of a ring all-reduce.
Cost ring_reduce_scatter(std::int64_t workers, double message_bytes, const Link&);  // (N-1)(alpha + S/N (beta + gamma))
Cost ring_all_gather(std::int64_t workers, double message_bytes, const Link&);      // (N-1)(alpha + S/N beta)

// Binomial tree, whole message a hop: ceil(log2 N)(alpha + S beta). Gloo's broadcast and broadcasts of short messages.
Cost tree_broadcast(std::int64_t workers, double message_bytes, const Link&);

// One message from one rank to another: alpha + S beta.
Cost send(double message_bytes, const Link&);

}  // namespace ddpprof::collective
