// One block of draws through a step, in vectors: what ddp_draws.hpp's simulation runs for each of its blocks.
#pragma once

#include <cstddef>
#include <vector>

#include "simulator/step/ddp_draws.hpp"

namespace ddpprof::step::draws {

inline constexpr std::size_t width = 8;  // draws of a block

struct Values {
  double lane[width] = {};
};

// What differs between the draws of a block, and what comes of it.
struct Block {
  Values pace, forward_s, backward_s, straggler_s, hop_s, hop_s_per_byte, reduction_s_per_byte, turn_s, copy_s_per_byte;
  Values even_backward_s, even_copy_s, even_finish_s, late_finish_s, communication_s, latency_s, alone_s;
};

// When a pass's gradients are ready, slope times the bucket's time plus offset, and how long it lasts.
struct Pass {
  Values slope, offset, length_s;
};

// Of one block's draws, the bucket's collective: what it shares with no other, what it does, and how many times its
// pace it goes beside compute.
struct Transfer {
  Values fixed_s, shared_s, pace, stretch;  // stretch = 1 / pace
};

struct Run {
  Values finish_s, last_end_s, communication_s;
};

// Space for one block, an element a bucket.
struct Room {
  std::vector<Transfer> transfers;
  std::vector<Values> end_s;
};

// Which of them are 0 in every draw.
struct Absent {
  bool turns = false, reduction = false, copies = false;
};

using RunBlock = void (*)(const std::vector<DrawnBucket>&, const DrawnLink&, const Absent&, const Pass&, Block&, Room&,
                          Run&, Run&);

// For the registers that every processor has, and for those of this one: the same digits. The buckets' ready times
// ascend.
RunBlock plain();
RunBlock fastest();

}  // namespace ddpprof::step::draws
