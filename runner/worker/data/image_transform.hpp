// Converts stored samples into model inputs: random crop, flip, scaling of bytes, normalisation. One pass per sample.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "runner/worker/data/samples.hpp"

namespace ddpprof::worker {

// The arithmetic is torchvision's ToTensor (bytes / 255) and Normalize ((x − mean) / std) in float32, bit for bit.
// With `augment` RandomCrop(size, padding=4) and RandomHorizontalFlip() run before them, as is usual for CIFAR; the
// padding is 0 before normalisation. Random choices depend on the sample's own random number. (Python draws from the
// generator of the loading process.) So the result does not depend on the thread that loads.
class ImageTransform {
 public:
  static constexpr std::int64_t padding = 4;

  // `shape`: channels × height × width. Without a normalisation, pixels are only scaled.
  ImageTransform(std::vector<std::int64_t> shape, std::optional<Normalization> normalization, bool augment);

  // rows[i] of `stored` (samples × shape, contiguous, float32 or bytes) under streams[i] -> float32 rows × shape.
  torch::Tensor apply(const torch::Tensor& stored, const std::vector<std::int64_t>& rows,
                      const std::vector<std::uint64_t>& streams) const;

  struct Crop {
    std::int64_t down = padding, right = padding;  // corner of the crop in the padded image; `padding`: not moved
    bool flip = false;                             // after the crop
  };
  static Crop crop_of(std::uint64_t stream);

 private:
  std::int64_t channels_, height_, width_;
  Normalization normalization_;
  bool augment_;
};

}  // namespace ddpprof::worker
