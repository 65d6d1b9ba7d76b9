// The share of time in which devices are busy, in equal parts of the whole timeline.
#pragma once

#include <optional>
#include <vector>

#include "analysis/timeline/tracks.hpp"

namespace ddpprof::timeline {

struct Utilisation {
  bool of_devices = false;  // true: kernels and copies on streams; false: compute of the ranks
  // Mean over the ranks for which it is known, from 0 to 1; nothing where it is known for no rank.
  std::vector<std::optional<double>> shares;
};

// `parts` > 0 parts of [begin_ns, end_ns). If any rank has streams, only ranks with streams count. Events of several
// streams count together up to the length of a part, so a part is at most as busy as stated.
Utilisation utilisation(const Timeline&, std::size_t parts);

}  // namespace ddpprof::timeline
