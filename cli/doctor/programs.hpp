// Whether the programs that belong to this `ddpprof` are there, fit it, and start.
#pragma once

#include <chrono>

#include "cli/doctor/facts.hpp"

namespace ddpprof::cli {

// Loads the tracer and asks for its version.
Tracer look_at_tracer();

// Starts `ddpprof-worker --about`, which loads LibTorch and says what it was built with; kills it after `limit`.
Worker look_at_worker(std::chrono::milliseconds limit);

}  // namespace ddpprof::cli
