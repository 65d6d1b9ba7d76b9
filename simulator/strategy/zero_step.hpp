// One step of DDP or ZeRO: blocks that compute one after the other, and beside them the collectives of their gradients
// and parameters.
//
// All ranks are alike and one link joins every two of them. So one rank is on the graph (engine/graph.hpp), and
// collectives cost what they cost for all. Times are seconds.
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/collective/all_reduce.hpp"
#include "simulator/step/buckets.hpp"

namespace ddpprof::strategy {

// A unit of computation and communication: a layer or a transformer block. Times are of one micro-batch.
struct Block {
  double forward_s = 0.0;
  double backward_s = 0.0;
  double parameter_bytes = 0.0;
};

struct ZeroStep {
  std::vector<Block> blocks;  // in forward order
  // 0: DDP. 1: optimizer states are sharded. 2: gradients too, so that they are reduced for every micro-batch.
  // 3: parameters too (FSDP, reshard after forward): gathered for each block's forward and again for its backward, one
  // block ahead of the block that computes. (Rajbhandari et al. 2020, "ZeRO".)
  int stage = 0;
  std::int64_t workers = 1;
  std::int64_t micro_batches = 1;  // of gradient accumulation
  double data_s = 0.0;             // exposed wait for input, each micro-batch
  double optimizer_s = 0.0;        // of all parameters on one device
  double gradient_bytes = 1.0;     // per byte of parameters
  collective::Link link;
  step::BucketLimits buckets = {};  // stages 0 to 2: whole blocks' gradients fill DDP's buckets in backward order
};

struct ZeroOutcome {
  double step_s = 0.0;
  double compute_s = 0.0;  // data, blocks and the optimizer
  double exposed_s = 0.0;  // time that the link adds
};

// Throws std::invalid_argument for an invalid step: no block, a count below 1, a time that is negative or infinite.
ZeroOutcome simulate(const ZeroStep&);

}  // namespace ddpprof::strategy
