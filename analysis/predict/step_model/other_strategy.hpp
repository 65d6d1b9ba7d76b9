// A measured DDP step under another strategy, simulated from its compute and its links.
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
  double straggler_s = 0.0;      // parameter servers: lateness of the slowest worker; not used for ZeRO
  double gradient_bytes = 1.0;   // share of the buckets' bytes that is sent; parameters are sent whole
};

struct OtherOutcome {
  double compute_s = 0.0;
  double exposed_s = 0.0;   // time that the links add
  bool beside_ddp = false;  // both are differences from DDP in the same simulation
};

// The limit of a simulation: more transfers take seconds.
inline constexpr std::int64_t most_transfers = 20'000;

// `work`: the DDP step. `buckets`: its buckets with their ready times as in `work`, used as the blocks that ZeRO-3
// gathers. `link`: between every two ranks. Throws std::invalid_argument for invalid values and above most_transfers.
OtherOutcome simulate_other(const OtherStrategy&, const step::DdpStep& work, std::span<const Bucket> buckets,
                            const collective::Link& link);

// Returns a link over which ring all-reduces of these buckets have the same total cost as `cost`.
collective::Link equivalent_link(std::int64_t workers, double bytes, std::size_t buckets, const collective::Cost& cost);

}  // namespace ddpprof::fit
