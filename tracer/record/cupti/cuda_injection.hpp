// Starts the recording of GPU activity in a process that uses CUDA.
#pragma once

namespace ddpprof::record {

// Once in a process; later calls do nothing. Whatever is missing (CUPTI, privileges, this build's CUDA part) leaves a
// `cupti_unavailable` diagnostic, and host-side ranges are recorded as before.
void start_cuda_tracing();

// Takes over what CUPTI still holds, within its limit at a process's end. Later activity is not recorded.
void finish_cuda_tracing();

// Whether CUPTI times kernels in this process; false before start_cuda_tracing(). Any thread.
bool gpu_activity_is_recorded();

}  // namespace ddpprof::record
