// Measured times of a collective by message size, and the times of other sizes and other numbers of ranks.
//
// Between two measured sizes, time is a line in the bytes: a latency and a bandwidth of that regime. Libraries switch
// protocols with the size, so one pair of values does not hold for all sizes. Times never fall as messages grow:
// measured times that do are averaged (pool adjacent violators; Barlow et al. 1972).
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
  // Sizes may come in any order. Several times of one size are replaced by their median. Throws std::invalid_argument
  // for an empty list, and if a size or a time is not above 0 and finite. `hosts`: that the ranks were on; 0: unknown.
  Curve(std::int64_t ranks, std::span<const SizeTime> measured, std::int64_t hosts = 0);

  std::int64_t ranks() const { return ranks_; }
  std::int64_t hosts() const { return hosts_; }
  const std::vector<SizeTime>& points() const { return points_; }

  // Below the smallest size, the latency of the first regime stays, and the rest falls with the bytes. This latency is
  // at least a microsecond for each hop of a tree, up and down. Above the largest size, the last regime continues.
  double time_s(double bytes) const;

  // Returns the time with `ranks` in a ring over the same links: the regime's latency is scaled by the steps 2(N-1),
  // the rest by the bytes on each link, 2(N-1)/N. Throws std::invalid_argument for fewer than 1 rank, or if this curve
  // is of one rank.
  double time_s(double bytes, std::int64_t ranks) const;
  Cost cost(double bytes, std::int64_t ranks) const;  // the same, split into latency and bandwidth

  // Time of a ring's hop of a small message, and of one byte of a large message over a link. 0 if the sizes do not
  // separate latency from bandwidth.
  double hop_s() const;
  double byte_s() const;

 private:
  struct Regime {
    double latency_s, s_per_byte;
  };
  Regime regime(double bytes) const;
  Regime line_at(double bytes) const;  // through the two sizes around it; needs two sizes

  std::int64_t ranks_, hosts_;
  std::vector<SizeTime> points_;  // ascending in both
};

}  // namespace ddpprof::collective
