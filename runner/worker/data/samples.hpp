// The samples of a source in memory, and what a model and its loss ask of them.
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

// One number each a channel, in the units of the scaled values; applied as (x − mean) / std.
struct Normalization {
  std::vector<float> mean, std;
};

struct Samples {
  // Each: samples × the source's own shape, which may be an image where the model takes it flat. Bytes stand for
  // [0, 1], as in torchvision's ToTensor.
  std::vector<torch::Tensor> inputs;
  torch::Tensor targets;   // samples × target: int64 or float32
  std::int64_t count = 0;  // of the data set: sample i is row i modulo the rows
  std::optional<Normalization> normalization;
};

constexpr std::int64_t synthetic_pool_bytes = std::int64_t{128} << 20;
Samples make_synthetic(const scenario::Workload& workload);

// Both throw DataError, naming file, found and expected, when the files are missing, damaged or do not fit the model,
// the loss or workload.data.samples; std::runtime_error when the system cannot read them.
//
// mnist: bytes of 1 × height × width, as the header says; of 28 × 28 normalised with mean 0.1307 and standard deviation
// 0.3081 (those of MNIST's training images, as PyTorch's examples have them), of another size with their own.
Samples read_mnist(const scenario::Workload& workload);
// tensors: real inputs become float32, bytes stay bytes; classes of any integer type become int64; the targets of a
// regression float32, and of one output may lack their last dimension.
Samples read_tensors(const scenario::Workload& workload);

// Shared by the readers. Throws DataError unless the samples are what the model takes, or are that when flattened.
void check_format(const Samples& samples, const SampleFormat& format, const scenario::DataFiles& files);
std::string shape_text(const std::vector<std::int64_t>& shape);  // "1 × 28 × 28", "no dimension"

// Mean and standard deviation of each channel of samples × channels × height × width, rounded to four significant
// digits (so that the order of summation cannot show); a channel that never changes gets 1 for its deviation.
Normalization channel_statistics(const torch::Tensor& images);

}  // namespace ddpprof::worker
