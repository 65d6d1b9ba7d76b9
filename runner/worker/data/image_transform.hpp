// Turns stored samples into what a model sees: random crop, flip, scaling of bytes, normalisation; one pass a sample.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "runner/worker/data/samples.hpp"

namespace ddpprof::worker {

// The arithmetic is torchvision's ToTensor (bytes / 255) and Normalize ((x − mean) / std) in float32, bit for bit.
// With `augment` RandomCrop(size, padding=4) and RandomHorizontalFlip() come before them, as is usual for CIFAR: the
// padding is 0 before normalisation. What is drawn comes from the sample's own random number, where Python's draws
// from the loading process's generator: the result is the same whichever thread loads.
class ImageTransform {
 public:
  static constexpr std::int64_t padding = 4;

  // `shape`: channels × height × width. Without a normalisation pixels are scaled only.
  ImageTransform(std::vector<std::int64_t> shape, std::optional<Normalization> normalization, bool augment);

  // rows[i] of `stored` (samples × shape, contiguous, float32 or bytes) under streams[i] -> float32 rows × shape.
  torch::Tensor apply(const torch::Tensor& stored, const std::vector<std::int64_t>& rows,
                      const std::vector<std::uint64_t>& streams) const;

  struct Crop {
    std::int64_t down = padding, right = padding;  // of the crop's corner in the padded image; padding: unmoved
    bool flip = false;                             // after the crop
  };
  static Crop crop_of(std::uint64_t stream);

 private:
  std::int64_t channels_, height_, width_;
  Normalization normalization_;
  bool augment_;
};

}  // namespace ddpprof::worker
