#include "runner/worker/data/image_transform.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

namespace ddpprof::worker {
namespace {

struct ScaleBytes {
  std::array<float, 256> table;
  ScaleBytes(float mean, float std) {
    for (std::size_t value = 0; value < table.size(); ++value)
      table[value] = (static_cast<float>(value) / 255.0F - mean) / std;
  }
  float operator()(std::uint8_t value) const { return table[value]; }
};

struct Scale {
  float mean, std;
  float operator()(float value) const { return (value - mean) / std; }
};

// One channel: to(y, x) = from(y + down − padding, mirrored x + right − padding), 0 outside of it.
template <typename T, typename Map>
void write_plane(const T* from, float* to, std::int64_t height, std::int64_t width, const ImageTransform::Crop& crop,
                 const Map& map) {
  const std::int64_t down = crop.down - ImageTransform::padding, right = crop.right - ImageTransform::padding;
  const float outside = map(T{0});
  const std::int64_t first = std::clamp<std::int64_t>(-right, 0, width);            // columns of the crop that lie
  const std::int64_t last = std::clamp<std::int64_t>(width - right, first, width);  // inside of the image
  for (std::int64_t y = 0; y < height; ++y, to += width) {
    const std::int64_t source_y = y + down;
    if (source_y < 0 || source_y >= height) {
      std::fill_n(to, width, outside);
      continue;
    }
    const T* row = from + source_y * width + right;
    if (!crop.flip) {
      std::fill_n(to, first, outside);
      for (std::int64_t x = first; x < last; ++x) to[x] = map(row[x]);
      std::fill_n(to + last, width - last, outside);
    } else {
      float* mirrored = to + width - 1;
      std::fill_n(to + width - first, first, outside);
      for (std::int64_t x = first; x < last; ++x) mirrored[-x] = map(row[x]);
      std::fill_n(to, width - last, outside);
    }
  }
}

}  // namespace

ImageTransform::ImageTransform(std::vector<std::int64_t> shape, std::optional<Normalization> normalization,
                               bool augment)
    : channels_(shape.at(0)), height_(shape.at(1)), width_(shape.at(2)), augment_(augment) {
  const auto count = static_cast<std::size_t>(channels_);
  normalization_ = normalization ? std::move(*normalization)
                                 : Normalization{std::vector<float>(count, 0.0F), std::vector<float>(count, 1.0F)};
  if (normalization_.mean.size() != count || normalization_.std.size() != count)
    throw std::invalid_argument("ImageTransform: expected a mean and a deviation for each channel");
}

ImageTransform::Crop ImageTransform::crop_of(std::uint64_t stream) {
  constexpr std::uint64_t places = 2 * padding + 1;
  return {static_cast<std::int64_t>((stream >> 8) % places), static_cast<std::int64_t>((stream >> 32) % places),
          (stream & 1) != 0};
}

torch::Tensor ImageTransform::apply(const torch::Tensor& stored, const std::vector<std::int64_t>& rows,
                                    const std::vector<std::uint64_t>& streams) const {
  const std::int64_t plane = height_ * width_;
  auto out = torch::empty({static_cast<std::int64_t>(rows.size()), channels_, height_, width_});
  float* to = out.mutable_data_ptr<float>();
  const bool bytes = stored.scalar_type() == torch::kByte;
  const auto* byte_values = bytes ? stored.const_data_ptr<std::uint8_t>() : nullptr;
  const auto* real_values = bytes ? nullptr : stored.const_data_ptr<float>();
  for (std::int64_t c = 0; c < channels_; ++c) {
    const auto channel = static_cast<std::size_t>(c);
    const float mean = normalization_.mean[channel], std = normalization_.std[channel];
    const ScaleBytes scale_bytes(mean, std);
    const Scale scale{mean, std};
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const Crop crop = augment_ ? crop_of(streams.at(i)) : Crop{};
      const std::int64_t from = (rows[i] * channels_ + c) * plane;
      float* target = to + (static_cast<std::int64_t>(i) * channels_ + c) * plane;
      if (bytes)
        write_plane(byte_values + from, target, height_, width_, crop, scale_bytes);
      else
        write_plane(real_values + from, target, height_, width_, crop, scale);
    }
  }
  return out;
}

}  // namespace ddpprof::worker
