// NCCL's regimes (pairs of an algorithm and a protocol) as measured: the cost of each, and the regime of a size at an
// N.
//
// The cost of a regime is: a factor of the common hop's latency for each of its hops, a factor of the common inverse
// bandwidth for each byte, and a number of additional hops that does not depend on N. Hops and bytes follow NCCL
// (src/graph/tuning.cc), over n nodes: a ring's 2(N-1) hops, 2n of them between nodes if there are several, move
// 2(N-1)/N S; a tree's 2 (N/n - 1) and 2 log2 n between nodes move 2 S; NVLink SHARP's 2 and 2 log2 n between nodes
// move 2 S. A hop between nodes has one more factor, the same for all regimes. The factors are fitted together with the
// common values, so that a regime with few points stays close to the others.
// The regime of a size: at a measured N the measured one, with the change at the geometric middle between the sizes
// measured on either side. At another N it is as at the nearest measured N, with the size of change moved as NCCL's own
// estimate moves it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "analysis/fit/measured/measured.hpp"
#include "simulator/collective/all_reduce.hpp"

namespace ddpprof::fit {

struct Regime {
  std::string name;  // "RING/LL128"
  double latency_factor = 1.0, bandwidth_factor = 1.0;
  double base_hops = 0.0;  // additional hops, which do not depend on N
  std::size_t points = 0;
};

// From `up_to_bytes` of the rung before on, up to and including its own.
struct Rung {
  double up_to_bytes = 0.0;  // of the last: infinite
  std::size_t regime = 0;
};

class Regimes {
 public:
  // Returns nullptr if the points were not measured in at least two known regimes, or if no fit converged.
  static std::shared_ptr<const Regimes> fitted(const std::vector<CollectivePoint>&);

  const Regime& at(std::int64_t workers, std::int64_t bytes) const;
  // Returns the latencies of the common hop that an all-reduce takes and the bytes that move at the common bandwidth,
  // in the form of Hops: `count` latencies, `bytes` each.
  collective::Hops hops(std::int64_t workers, std::int64_t bytes) const;
  // Returns the latencies of an all-reduce over this number of nodes, over the latencies that hops() counts. A hop
  // between nodes takes `longer` common hops more than a hop inside a node.
  double latency_across(std::int64_t workers, std::int64_t nodes, double longer, std::int64_t bytes) const;
  const std::vector<Regime>& all() const { return regimes_; }
  // "RING/LL up to 64 KiB, then RING/SIMPLE"
  std::string ladder_text(std::int64_t workers) const;
  // Factors for a hop of a small message, and for a byte of a large message.
  double hop_unit(std::int64_t workers) const;
  double byte_unit(std::int64_t workers) const;

 private:
  std::vector<Rung> ladder(std::int64_t workers) const;
  std::vector<Rung> moved_ladder(std::int64_t workers) const;
  std::int64_t nodes(std::int64_t workers) const;

  std::vector<Regime> regimes_;
  std::map<std::int64_t, std::vector<Rung>> measured_;  // by N
  std::int64_t ranks_per_node_ = 0;                     // 0: one node was measured
  double across_ = 1.0;                                 // a hop between nodes over one inside
  mutable std::mutex mutex_;                            // several threads predict at once
  mutable std::map<std::int64_t, std::vector<Rung>> moved_;
};

}  // namespace ddpprof::fit
