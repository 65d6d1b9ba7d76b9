// One block of draws through a step, in vectors: what ddp_draws.hpp's simulation runs for each of its blocks.
#pragma once

#include <cstddef>
#include <vector>

#include "simulator/step/ddp_draws.hpp"

namespace ddpprof::step::draws {

inline constexpr std::size_t width = 16;  // draws of a block

struct Values {
  double lane[width] = {};
};

// What differs between the draws of a block, and what comes of it.
struct Block {
  Values pace, forward_s, backward_s, straggler_s, hop_s, hop_s_per_byte, reduction_s_per_byte, turn_s, copy_s_per_byte;
  Values even_backward_s, even_copy_s, even_finish_s, late_finish_s, communication_s, latency_s, alone_s;
};

// When a pass's gradients are ready, slope times the bucket's time plus offset, and how long it lasts: at least until
// the last of them.
struct Pass {
  Values slope, offset, length_s;
};

// Which of them are 0 in every draw.
struct Absent {
  bool turns = false, reduction = false, copies = false;
};

using RunBlock = void (*)(const std::vector<DrawnBucket>&, const DrawnLink&, const Absent&, const Pass& late, Block&);

// One for each kind of registers that this processor has, the fastest last: all give the same digits. The buckets'
// ready times must ascend.
std::vector<RunBlock> kernels();

}  // namespace ddpprof::step::draws
