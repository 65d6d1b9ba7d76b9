// Counts the bytes of CPU tensors by the device they stand for, as the allocators of GPUs do.
#pragma once

#include <cstdint>

#include "runner/worker/torch.hpp"

namespace ddpprof::worker::memory {

struct Bytes {
  std::int64_t held = 0;  // now
  std::int64_t peak = 0;  // most at one time since the last reset
};

inline constexpr int host = -1;  // what a run on GPUs would keep in the host's memory: the data set, batches made ahead
inline constexpr int devices = 4096;  // DataParallel's most replicas

// Puts the count around LibTorch's allocator of CPU memory, for all tensors made from then on. Each costs 64 bytes more
// and two atomic additions, when it is made and when it goes.
void start_counting();
bool counting();

// Tensors that this thread makes count for `device` until the end of the scope; elsewhere for device 0. A tensor counts
// for the device that it was made for, whoever frees it.
class For {
 public:
  explicit For(int device);
  ~For();
  For(const For&) = delete;
  For& operator=(const For&) = delete;

 private:
  int before_;
};

// From here on the tensor's memory counts for `device`. Does nothing for memory that is not counted.
void hand_over(const torch::Tensor& tensor, int device);

Bytes read(int device);
void reset_peaks();

}  // namespace ddpprof::worker::memory
