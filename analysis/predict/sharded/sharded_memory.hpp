// Memory of one rank of a sharded training (FSDP) at any number of ranks, without activations.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "analysis/fit/sharded/sharded_job.hpp"
#include "analysis/predict/step_model/what_if.hpp"

namespace ddpprof::fit {

struct ShardedMemory {
  std::string strategy;
  std::int64_t workers = 1;
  bool changed = false;                   // with the options' change
  double parameters_bytes = 0.0;          // that the rank keeps
  double gradients_bytes = 0.0;           // that the rank keeps
  std::optional<double> optimizer_bytes;  // none: how many values the optimizer keeps is not known from its name
  double gathered_bytes = 0.0;            // at most at one time
  double buffers_bytes = 0.0;             // of gradients to be reduced, at most at one time

  double total_bytes() const {
    return parameters_bytes + gradients_bytes + optimizer_bytes.value_or(0.0) + gathered_bytes + buffers_bytes;
  }
  // Returns the name of the largest part.
  std::string largest() const;
};

// Parameters, gradients and optimizer state are stored in the wider element type of the unit's all-gather and
// reduce-scatter. A unit that is gathered again in the backward is in memory together with the next one. Gradients of
// micro-batches that are not reduced are kept whole. `ranks` are the measurements that the units are of.
ShardedMemory sharded_memory(const ShardedJob&, const ShardedRanks& ranks, std::int64_t workers, const WhatIf&);

}  // namespace ddpprof::fit
