// Counts the bytes of CPU tensors per simulated device, as GPU allocators do per GPU.
#pragma once

#include <cstdint>

#include "runner/worker/torch.hpp"

namespace ddpprof::worker::memory {

struct Bytes {
  std::int64_t held = 0;  // now
  std::int64_t peak = 0;  // maximum since the last reset
};

// Number for memory that a run on GPUs would have in host memory: the data set and prepared batches.
inline constexpr int host = -1;
inline constexpr int devices = 4096;  // maximum number of DataParallel replicas

// Wraps LibTorch's allocator of CPU memory, for all tensors made from then on. Each tensor costs 64 more bytes, and two
// atomic additions when it is allocated and when it is freed.
void start_counting();
bool counting();

// Within its scope, tensors that this thread makes count for `device`. Other tensors count for device 0. A tensor
// counts for its device until it is freed, on any thread.
class For {
 public:
  explicit For(int device);
  ~For();
  For(const For&) = delete;
  For& operator=(const For&) = delete;

 private:
  int before_;
};

// Moves the tensor's memory to the count of `device`. Does nothing for memory that is not counted.
void hand_over(const torch::Tensor& tensor, int device);

Bytes read(int device);
void reset_peaks();

}  // namespace ddpprof::worker::memory
