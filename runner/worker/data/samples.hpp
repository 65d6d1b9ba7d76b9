// The samples of a source in memory, and the format that a model and its loss require.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runner/scenario/data_files.hpp"
#include "runner/scenario/scenario.hpp"
#include "runner/worker/torch.hpp"

namespace ddpprof::worker {

using scenario::DataError;

struct InputFormat {
  std::vector<std::int64_t> shape;         // one sample's, without the batch dimension
  torch::ScalarType type = torch::kFloat;  // kFloat: real numbers; kLong: indices
  std::int64_t below = 0;                  // of indices: 0 to below - 1
};

struct SampleFormat {
  std::vector<InputFormat> inputs;
  std::vector<std::int64_t> target;  // one sample's: {} for a class, {outputs} for a regression
  std::int64_t outputs = 0;          // classes, or values of a regression
  bool classes = true;               // the targets are indices
  scenario::LossKind loss = scenario::LossKind::cross_entropy;
};
SampleFormat sample_format(const scenario::Workload& workload);

// One number per channel, in the units of the scaled values; applied as (x − mean) / std.
struct Normalization {
  std::vector<float> mean, std;
};

struct Samples {
  // Each: samples × the shape in the source, which may be an image although the model takes a flat vector. Bytes
  // represent [0, 1], as in torchvision's ToTensor.
  std::vector<torch::Tensor> inputs;
  torch::Tensor targets;   // samples × target: int64 or float32
  std::int64_t count = 0;  // size of the data set: sample i is row i modulo the rows
  std::optional<Normalization> normalization;
};

constexpr std::int64_t synthetic_pool_bytes = std::int64_t{128} << 20;
Samples make_synthetic(const scenario::Workload& workload);

// Both throw DataError, with file, found and expected value, if the files are missing, damaged or do not fit the model,
// the loss or workload.data.samples. They throw std::runtime_error if the system cannot read the files.
//
// mnist: bytes of 1 × height × width, from the header. Images of 28 × 28 are normalised with mean 0.1307 and standard
// deviation 0.3081 (MNIST's training images, as in PyTorch's examples), images of another size with their own values.
Samples read_mnist(const scenario::Workload& workload);
// tensors: real inputs become float32, bytes stay bytes; classes of any integer type become int64; the targets of a
// regression become float32; with one output their last dimension may be missing.
Samples read_tensors(const scenario::Workload& workload);

// Used by both readers. Throws DataError unless the samples, or the flattened samples, have the shape of the model's
// input.
void check_format(const Samples& samples, const SampleFormat& format, const scenario::DataFiles& files);
std::string shape_text(const std::vector<std::int64_t>& shape);  // "1 × 28 × 28", "no dimension"

// Mean and standard deviation of each channel of samples × channels × height × width, rounded to four significant
// digits (so that the order of summation cannot show); a constant channel gets deviation 1.
Normalization channel_statistics(const torch::Tensor& images);

}  // namespace ddpprof::worker
