// Each parameter's gradient: its size, the time at which backward has it ready, and the buckets of the gradients.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/fit/measured/measured.hpp"
#include "analysis/fit/measured/rows.hpp"
#include "simulator/step/buckets.hpp"

namespace ddpprof::fit {

// In the order in which gradients become ready: DDP's own where its buckets were rebuilt from it, else by the medians.
// Times are medians of the lowest rank's measured steps, after the last backward's start. Empty when none was recorded.
std::vector<GradientReady> read_gradients(SQLite::Database&, const MeasurementInfo&, const std::vector<StepInfo>&);

// Returns the buckets that DDP builds from gradients in ready order, from its second iteration on. A model with unused
// parameters keeps the buckets of its first iteration, built in order of registration.
std::vector<Bucket> bucketed(const std::vector<GradientReady>&, const step::BucketLimits&, bool find_unused_parameters);

// Returns buckets without collectives: from the bucket table's last generation, or by DDP's own rule if that table is
// empty.
std::vector<Bucket> read_buckets(SQLite::Database&, const MeasurementInfo&, const std::vector<GradientReady>&);

}  // namespace ddpprof::fit
