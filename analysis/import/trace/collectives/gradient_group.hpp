// Finds the collectives of a trace that reduce gradients: those of one process group, in each step's last backward.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/import/trace/collectives/collectives.hpp"
#include "analysis/import/trace/training_steps.hpp"

namespace ddpprof::import {

struct MarkedGradients {
  std::int64_t other_groups = 0;  // all-reduces of other groups in backward
  std::int64_t left_out = 0;      // of the gradients' group, without gradients
};

// Sets Collective::gradient; each call recomputes it. If several groups all-reduce in backward (tensor parallel groups,
// a loss's mean), the gradients' group is the one whose bytes equal the bytes of the gradients that autograd
// accumulated, or half of them if they are sent compressed. Otherwise it is the largest group; ties go to the group
// that sends most bytes.
//
// All-reduces of whole numbers carry no gradients: with find_unused_parameters DDP reduces a map of used parameters.
//
// An all-reduce of this group carries gradients if the gradients fill its size completely, in the order in which they
// became ready. The remaining messages must have less than half of the bytes: sums of batch normalisation, norms
// and losses lie between and after the gradients. If shapes or sizes do not decide this, these messages are left out:
// - with sizes: messages below 64 KiB and below a thousandth of the step's bytes, if another message of the same
//   backward follows or if they were launched after the backward (DDP's last bucket may be as small, other buckets are
//   as large as their cap);
// - without sizes: messages known to be launched after a backward that launched others.
MarkedGradients mark_gradients(const RankTrace&, const std::vector<HostStep>&, std::vector<Collective>&);

}  // namespace ddpprof::import
