// One machine under one change: everything of a step that does not depend on the fitted parameters' values.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/predict/step_model/measured_job.hpp"
#include "analysis/predict/step_model/terms.hpp"

namespace ddpprof::fit {

// The pointers point into the job's models.
struct StepCase {
  bool ddp = true;  // else DataParallel
  Machine machine;
  Machine linked;  // the machine with the nodes whose links the ranks use: cores of their own do not move ranks
  WhatIf change;
  const StepProfile* profile = nullptr;
  const StepProfile* others = nullptr;  // ddp: with the collectives besides the buckets; N = 1 shows none
  const BatchFit* batch_fit = nullptr;
  const CopyFit* copy_fit = nullptr;
  bool measured = false;              // the profile was taken on this very machine
  ComputeFit::LogCompute log_scale;   // compute on this machine over compute in the profile
  double lateness = 0.0;              // expected, of the slowest rank, as a share of the measured forward and backward
  std::vector<Bucket> buckets;        // ddp: under the change
  double copy_back_s_per_byte = 0.0;  // at the profile's compute
  double slowdown = 1.0;              // of compute beside communication
  double buffers_s = 0.0;             // at the links as fitted
  // If links are needed that were not measured, between nodes or inside a node: their range, and the one that this case
  // uses.
  std::optional<NodeLinkRange> link_range;
  NodeLink link;
  double least_step_s = 0.0;  // time of all ranks' work on the cores that they share
};

// Throws std::invalid_argument if the change asks for a bucket size and the gradients' ready times are unknown.
StepCase step_case(const MeasuredJob&, const Machine&, const WhatIf&);
// The case at N on the machine that the options ask about. Each rank has its own cores if the change frees sharing.
StepCase step_case_at(const MeasuredJob&, std::int64_t workers, const WhatIf& = {});

// Returns the case over the fastest and over the slowest link of its range; the case itself without a range.
std::vector<StepCase> link_ends(const StepCase&);

// Raises compute so that the step is not shorter than the work of all ranks on the cores they share. DDP's ranks can
// compute while others wait, so their whole step is the limit. DataParallel's replicas all compute between the same two
// copies, so their compute is the limit.
Terms with_all_work(Terms, const StepCase&);

// Collectives in flight at once.
int lanes_of(const StepProfile&);
std::int64_t total_bytes(const std::vector<Bucket>&);

}  // namespace ddpprof::fit
