// Simulates one block of draws with vector instructions. The simulation of ddp_draws.hpp calls it for each block.
#pragma once

#include <cstddef>
#include <vector>

#include "simulator/step/ddp_draws.hpp"

namespace ddpprof::step::draws {

inline constexpr std::size_t width = 16;  // draws of a block

struct Values {
  double lane[width] = {};
};

// Inputs that differ between the draws of a block, and the results.
struct Block {
  std::size_t draws = width;  // draws in use, from the first on
  Values pace, forward_s, backward_s, straggler_s, hop_s, hop_s_per_byte, reduction_s_per_byte, turn_s, copy_s_per_byte;
  Values even_backward_s, even_copy_s, even_finish_s, late_finish_s, communication_s, latency_s, alone_s;
};

// Ready times of a pass's gradients: slope times the bucket's time plus offset. The pass lasts at least until the last
// of them.
struct Pass {
  Values slope, offset, length_s;
};

// The times that are 0 in every draw.
struct Absent {
  bool turns = false, reduction = false, copies = false;
};

// Buckets with equal numbers of hops and bytes have the same cost. It is computed once for them, and kept until a fixed
// number of other messages have come.
inline constexpr std::size_t messages_kept = 8;

struct Message {
  double hops = 0.0, hop_bytes = 0.0, launches = 0.0;
};

struct Launch {
  double ready_s = 0.0;
  double copied_bytes = 0.0;  // back into the gradients, of this bucket and all after it
  std::size_t message = 0;    // one of the last that came before it, or the next
};

// Inputs that all draws share.
struct Plan {
  std::vector<DrawnBucket> buckets;
  std::vector<Launch> launches;   // one a bucket, of a link with two lanes
  std::vector<Message> messages;  // in the order of their first launches
};

Plan plan(std::vector<DrawnBucket>, const DrawnLink&);  // ready times must ascend

using RunBlock = void (*)(const Plan&, const DrawnLink&, const Absent&, const Pass& late, Block&);

// Returns one kernel for each kind of registers that this processor has, the fastest last. All of them give the same
// digits.
std::vector<RunBlock> kernels();

}  // namespace ddpprof::step::draws
