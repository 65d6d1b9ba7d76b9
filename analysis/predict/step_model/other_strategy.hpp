// What a measured DDP step would take under another strategy: simulated only, from its compute and its links.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "analysis/fit/measured/measured.hpp"
#include "simulator/collective/all_reduce.hpp"
#include "simulator/step/ddp_step.hpp"

namespace ddpprof::fit {

struct OtherStrategy {
  std::string name;  // zero1, zero2, zero3, ps, async-ps
  std::int64_t workers = 2;
  std::int64_t servers = 1;  // of ps and async-ps
  std::int64_t accumulation = 1;
  double micro_forward_s = 0.0;  // of one micro-batch; work.forward_s holds all but the last backward
  double straggler_s = 0.0;      // parameter servers': how much later the slowest worker is; ZeRO's is not in here
  double gradient_bytes = 1.0;   // on the wire, of the buckets' bytes; parameters travel whole
};

struct OtherOutcome {
  double compute_s = 0.0;
  double exposed_s = 0.0;   // what the links add
  bool beside_ddp = false;  // both are differences to DDP under the same simulation
};

// A simulation of more than so many transfers takes seconds.
inline constexpr std::int64_t most_transfers = 20'000;

// `work`: the DDP step; `buckets`: its buckets with their ready times as in `work`, taken for the blocks that ZeRO-3
// gathers; `link`: as every two ranks are joined. Throws std::invalid_argument for figures that cannot be, and beyond
// most_transfers.
OtherOutcome simulate_other(const OtherStrategy&, const step::DdpStep& work, std::span<const Bucket> buckets,
                            const collective::Link& link);

// A link over which ring all-reduces of these buckets cost in sum what `costs` does.
collective::Link equivalent_link(std::int64_t workers, double bytes, std::size_t buckets, const collective::Cost& cost);

}  // namespace ddpprof::fit
