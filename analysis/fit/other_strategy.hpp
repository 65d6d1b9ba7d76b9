// What a measured DDP step would take under another strategy: simulated only, from its compute and its links.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "analysis/fit/measured.hpp"
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
};

struct OtherOutcome {
  double step_s = 0.0;
  double exposed_s = 0.0;  // of it what the links add
};

// `work`: the DDP step; `buckets`: its buckets with their ready times as in `work`, taken for the blocks that ZeRO-3
// gathers; `link`: as every two ranks are joined. Throws std::invalid_argument for figures that cannot be.
OtherOutcome simulate_other(const OtherStrategy&, const step::DdpStep& work, std::span<const Bucket> buckets,
                            const collective::Link& link);

// A link over which ring all-reduces of these buckets cost in sum what `costs` does.
collective::Link equivalent_link(std::int64_t workers, double bytes, std::size_t buckets, const collective::Cost& cost);

}  // namespace ddpprof::fit
