// Starts the recording of GPU activity in a process that uses CUDA.
#pragma once

namespace ddpprof::record {

// Once in a process; later calls do nothing. Whatever is missing (CUPTI, privileges, this build's CUDA part) leaves a
// `cupti_unavailable` diagnostic, and host-side ranges are recorded as before.
void start_cuda_tracing();

}  // namespace ddpprof::record
