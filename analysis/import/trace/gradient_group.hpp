// Which collectives of a trace reduce gradients: those of one process group, in each step's last backward.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/import/trace/collectives.hpp"
#include "analysis/import/trace/training_steps.hpp"

namespace ddpprof::import {

struct MarkedGradients {
  std::int64_t other_groups = 0;  // all-reduces of other groups in backwards
  std::int64_t left_out = 0;      // of the gradients' own group, that carry none
};

// Sets Collective::gradient, anew at each call. Of several groups that all-reduce in backward (tensor parallel ones, a
// loss's mean) it is the one whose bytes are those of the gradients that autograd accumulated, or half of them where
// they travel compressed; else the largest group, of equals the one that carries most.
//
// Of that group's all-reduces, gradients are in those whose sizes the gradients fill in the order they were ready, none
// left over (of messages, less than half the bytes); batch normalisation's sums, norms and losses lie between and after
// them. Where shapes or sizes do not tell that, these are left out: messages of less than 64 KiB and a thousandth of
// the step's bytes that another one of the same backward follows, or that were launched after it (DDP's last bucket may
// be as small, others are as large as their cap); without sizes, what is known to have been launched after a backward
// that launched others.
MarkedGradients mark_gradients(const RankTrace&, const std::vector<HostStep>&, std::vector<Collective>&);

}  // namespace ddpprof::import
