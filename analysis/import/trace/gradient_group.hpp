// Which collectives of a trace reduce gradients: those of one process group, in each step's last backward.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/import/trace/collectives.hpp"
#include "analysis/import/trace/training_steps.hpp"

namespace ddpprof::import {

// Sets Collective::gradient, anew at each call. Of several groups that all-reduce in backward (tensor parallel ones, a
// loss's mean) it is the one whose bytes are those of the gradients that autograd accumulated, or half of them where
// they travel compressed; else the largest group, of equals the one that carries most. Returns how many all-reduces of
// other groups lie in backwards.
std::int64_t mark_gradients(const RankTrace&, const std::vector<HostStep>&, std::vector<Collective>&);

}  // namespace ddpprof::import
