// Records GPU activity in a process that uses CUDA.
#pragma once

namespace ddpprof::record {

// Starts recording; calls after the first do nothing. If CUPTI, privileges or this build's CUDA part are missing, a
// `cupti_unavailable` diagnostic is recorded, and the host's ranges are recorded as before.
void start_cuda_tracing();

// Collects the remaining records from CUPTI at the end of the process, within CuptiTimes::end. Later activity is not
// recorded, and later calls do nothing.
void finish_cuda_tracing();

// Returns true if CUPTI times kernels in this process; false before start_cuda_tracing(). Any thread may call it.
bool gpu_activity_is_recorded();

}  // namespace ddpprof::record
