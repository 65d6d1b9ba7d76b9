// Measured times of a collective by message size, and what they say of other sizes and other numbers of ranks.
//
// Between two measured sizes time is a line in the bytes, a latency and a bandwidth of that regime: libraries switch
// protocols with the size, and no single pair of figures holds for all. Times never fall as messages grow: where
// measured ones do, they are averaged (pool adjacent violators; Barlow et al. 1972).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "simulator/collective/all_reduce.hpp"

namespace ddpprof::collective {

struct SizeTime {
  double bytes = 0.0;
  double time_s = 0.0;
};

class Curve {
 public:
  // Sizes in any order; of several times of one size the median counts. Throws std::invalid_argument when there is no
  // point, or one whose size is not above 0 or whose time is not above 0 and finite.
  Curve(std::int64_t ranks, std::span<const SizeTime> measured);

  std::int64_t ranks() const { return ranks_; }
  const std::vector<SizeTime>& points() const { return points_; }

  // Below the smallest size its time, above the largest the last regime goes on.
  double time_s(double bytes) const;

  // As if `ranks` took part in a ring over the same links: the regime's latency by its steps 2(N-1), the rest by the
  // bytes on each link 2(N-1)/N. Throws std::invalid_argument for fewer than 1 rank, or when this curve is of one rank.
  double time_s(double bytes, std::int64_t ranks) const;
  Cost cost(double bytes, std::int64_t ranks) const;  // the same, its latency and bandwidth apart

  // Of a ring: one hop of a small message, one byte of a large one over a link. 0 where the sizes do not tell.
  double hop_s() const;
  double byte_s() const;

 private:
  struct Regime {
    double latency_s, s_per_byte;
  };
  Regime regime(double bytes) const;
  Regime line_at(double bytes) const;  // of the two sizes around it; of at least two sizes

  std::int64_t ranks_;
  std::vector<SizeTime> points_;  // ascending in both
};

}  // namespace ddpprof::collective
