// Samples of one strategy at one N and batch, pooled over its repeats, and the profile made from them.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "analysis/fit/measured/measured.hpp"
#include "analysis/fit/measured/rows.hpp"

namespace ddpprof::fit {

struct Pool {
  StepProfile profile;
  std::vector<double> data, buffers, forward, backward, tail, optimizer, gap, jitter, straggler, slowest_rank,
      unwrapped, overlapped, samples, communication, exposed, waited, idle_share, copies_share, idle_gap, others,
      others_wait, calls_alone;
  std::vector<std::vector<double>> compute_repeats;
  std::map<std::int64_t, std::vector<double>> bucket_ready;
  std::map<std::int64_t, std::int64_t> bucket_bytes;
  std::vector<Bucket> buckets_from_parameters;
  std::vector<StepShares> shares;
  std::map<std::int64_t, std::int64_t> other_messages;  // by bytes: their number in all steps
};

// Sets the steps' times in which other collectives ran, and counts the messages.
void add_other_collectives(Pool&, std::vector<StepInfo>&, const std::vector<OtherCollective>&);

// Adds the steps of one repeat. Steps without the DDP wrapper are stored separately.
void add_steps(Pool& pool, const std::vector<StepInfo>& steps, const std::vector<CollectiveInfo>& collectives);

// The profile of medians; leaves the pool empty.
StepProfile condense(Pool& pool);

// Returns the number of ranks whose traces an import has; 0 if the measurement is not an import.
std::size_t ranks_of_import(const std::vector<StepInfo>&, const MeasurementInfo&);

// Returns the steps that every rank recorded, because the mean of fewer ranks would be another step. Adds a warning
// with the number of other steps.
std::vector<StepInfo> complete_steps(const std::vector<StepInfo>& all, const MeasurementInfo& info, Measured& measured);

// Returns true if a step was traced in full: with the profiler, and with the DDP wrapper.
bool has_measured_step(const std::vector<StepInfo>&);

// Sets what a profile has from its first measurement: strategy, machine, parameters and batch.
void set_setting(StepProfile&, const MeasurementInfo&);

// Returns true if times of a measurement may be pooled with a profile's, or compared with them.
bool same_setting(const StepProfile& profile, const MeasurementInfo& info);

inline double seconds(std::int64_t ns) { return static_cast<double>(ns) * 1e-9; }

double median_or(const std::vector<double>& values, double otherwise);

}  // namespace ddpprof::fit
