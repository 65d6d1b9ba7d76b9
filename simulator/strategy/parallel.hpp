// One synchronous step of a model that is split over ranks: by data (DDP, ZeRO), by tensor, by pipeline, and any
// product.
//
// N = data × tensor × pipeline ranks. Tensor-parallel ranks are neighbours, data-parallel replicas of a stage follow,
// then the next stage: rank = (stage · data + replica) · tensor + part. Ranks of a stage are alike, so one of each
// stage is on the graph (engine/graph.hpp) and collectives cost what they cost for all. Times are seconds.
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/collective/network.hpp"
#include "simulator/step/buckets.hpp"

namespace ddpprof::strategy {

// A unit of computation and communication: a layer or a transformer block. Times are of one micro-batch on one device
// that holds the whole block.
struct Block {
  double forward_s = 0.0;
  double backward_s = 0.0;
  double parameter_bytes = 0.0;
  double activation_bytes = 0.0;  // kept from the forward for the backward; tensor-parallel ranks split it evenly
  double output_bytes = 0.0;      // passed to the next block; its gradient has the same size
  // All-reduces of output_bytes among tensor-parallel ranks in each of forward and backward: a transformer block has 2
  // (after attention and after the MLP; Shoeybi et al. 2019, "Megatron-LM").
  int tensor_all_reduces = 2;
};

struct Job {
  std::vector<Block> blocks;     // in forward order
  double data_s = 0.0;           // exposed wait for input, each micro-batch
  double optimizer_s = 0.0;      // of all parameters on one device
  double gradient_bytes = 1.0;   // per byte of parameters
  double optimizer_bytes = 0.0;  // per byte of parameters: momentum 1, Adam 2, mixed precision with Adam 6
};

enum class Schedule { gpipe, one_f_one_b };

struct Plan {
  std::int64_t data = 1, tensor = 1, pipeline = 1;
  std::int64_t micro_batches = 1;  // of each replica: for gradient accumulation and for filling a pipeline
  Schedule schedule = Schedule::one_f_one_b;
  // 0: DDP. 1: optimizer states are sharded. 2: gradients too, so that they are reduced for every micro-batch.
  // 3: parameters too (FSDP, reshard after forward): gathered for each block's forward and again for its backward.
  // (Rajbhandari et al. 2020, "ZeRO".)
  int zero = 0;
  std::int64_t prefetch_blocks = 1;  // ZeRO-3: gathered ahead of the block that computes
  step::BucketLimits buckets = {};   // ZeRO 0 to 2: whole blocks' gradients fill DDP's buckets in backward order
  bool overlap = true;               // false: gradients are reduced when the backward has ended
};

struct Memory {
  double parameters_bytes = 0.0, gradients_bytes = 0.0, optimizer_bytes = 0.0, activations_bytes = 0.0;
  double total_bytes() const { return parameters_bytes + gradients_bytes + optimizer_bytes + activations_bytes; }
};

struct Stage {
  std::size_t first_block = 0, blocks = 0;
  double compute_s = 0.0;   // busy with data, blocks and the optimizer
  double sent_bytes = 0.0;  // by each of its ranks
  Memory memory;            // of each of its ranks, at its peak
};

struct Outcome {
  double step_s = 0.0;
  double compute_s = 0.0;  // of the busiest stage
  double bubble_s = 0.0;   // time that the pipeline adds with free links
  double exposed_s = 0.0;  // time that the links add: step_s - bubble_s - compute_s
  std::vector<Stage> stages;
};

// Throws std::invalid_argument for an invalid plan or job: no block, fewer blocks than stages, a count below 1.
Outcome simulate(const Job&, const Plan&, const collective::Network&);

// Returns the first block of each stage: contiguous stages such that the slowest stage is as fast as possible.
std::vector<std::size_t> balanced_stages(const Job&, std::size_t stages);

}  // namespace ddpprof::strategy
