#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "runner/worker/data/idx.hpp"
#include "runner/worker/data/samples.hpp"
#include "runner/worker/status.hpp"
#include "runner/worker/torch_file.hpp"

namespace ddpprof::worker {
namespace {

namespace fs = std::filesystem;

torch::Tensor as_tensor(IdxArray array) {
  auto values = std::make_shared<std::vector<std::uint8_t>>(std::move(array.values));
  return torch::from_blob(
      values->data(), array.shape, [values](void*) {}, torch::kByte);
}

// `wanted`: workload.data.samples.
void keep_first(Samples& samples, std::optional<std::int64_t> wanted, const std::string& folder) {
  const std::int64_t held = samples.targets.size(0);
  samples.count = wanted.value_or(held);
  if (samples.count > held)
    throw DataError("workload.data.samples: " + std::to_string(samples.count) + ", but " + folder + " holds " +
                    std::to_string(held) + "; expected at most that, or null for all");
  for (auto& input : samples.inputs) input = input.narrow(0, 0, samples.count);
  samples.targets = samples.targets.narrow(0, 0, samples.count);
}

void same_count(const fs::path& one, std::int64_t ones, const fs::path& other, std::int64_t others) {
  if (ones != others)
    throw DataError(one.string() + " holds " + std::to_string(ones) + " samples and " + other.string() + " " +
                    std::to_string(others) + "; expected as many");
}

torch::Tensor load_tensor(const fs::path& path) {
  status::set(status::Activity::building_model);  // before each file, which may be large
  c10::IValue value;
  try {
    value = read_torch_file(path);
  } catch (const std::runtime_error& error) {
    throw DataError(path.string() + ": cannot be loaded (" + error.what() +
                    "); expected one tensor as Python's torch.save(tensor, path) writes it");
  }
  if (!value.isTensor())
    throw DataError(path.string() + ": holds a " + value.tagKind() +
                    "; expected one tensor: torch.save(tensor, path), not a module, a dict or a list");
  return value.toTensor().detach();
}

constexpr const char* first_dimension = "expected samples in the first dimension";
constexpr std::int64_t ignored_class = -100;

void check_range(const torch::Tensor& indices, std::int64_t below, const fs::path& path, const char* what,
                 const char* takes) {
  const auto least = indices.min().item<std::int64_t>(), most = indices.max().item<std::int64_t>();
  if (least < 0 || most >= below)
    throw DataError(path.string() + ": has " + what + " from " + std::to_string(least) + " to " + std::to_string(most) +
                    "; " + takes + " 0 to " + std::to_string(below - 1));
}

std::string type_text(const torch::Tensor& tensor) { return c10::toString(tensor.scalar_type()); }

bool is_index(const torch::Tensor& tensor) { return at::isIntegralType(tensor.scalar_type(), /*includeBool=*/false); }

torch::Tensor as_input(torch::Tensor tensor, torch::ScalarType wanted, const fs::path& path) {
  if (wanted == torch::kLong) {
    if (!is_index(tensor))
      throw DataError(path.string() + ": is of " + type_text(tensor) + "; the model takes integers: tensor.long()");
    return tensor.to(torch::kLong).contiguous();
  }
  if (tensor.scalar_type() == torch::kByte) return tensor.contiguous();
  if (!tensor.is_floating_point())
    throw DataError(path.string() + ": is of " + type_text(tensor) +
                    "; expected real numbers, tensor.float(), or bytes (0 to 255 are taken for 0 to 1)");
  return tensor.to(torch::kFloat).contiguous();
}

torch::Tensor as_targets(torch::Tensor tensor, const SampleFormat& format, const fs::path& path) {
  const std::string loss = scenario::to_string(format.loss);
  if (format.classes) {
    if (!is_index(tensor))
      throw DataError(path.string() + ": is of " + type_text(tensor) + "; " + loss +
                      " takes classes here: expected integers, tensor.long()");
    return tensor.to(torch::kLong).contiguous();
  }
  if (!tensor.is_floating_point())
    throw DataError(path.string() + ": is of " + type_text(tensor) + "; " + loss +
                    " takes real numbers here: tensor.float()");
  if (tensor.dim() == 1 && format.target == std::vector<std::int64_t>{1}) tensor = tensor.unsqueeze(1);
  return tensor.to(torch::kFloat).contiguous();
}

std::vector<std::int64_t> own_shape(const torch::Tensor& samples) {
  const auto sizes = samples.sizes().vec();
  return sizes.empty() ? sizes : std::vector<std::int64_t>(sizes.begin() + 1, sizes.end());
}

std::int64_t product(const std::vector<std::int64_t>& shape) {
  std::int64_t values = 1;
  for (const auto extent : shape) values *= extent;
  return values;
}

float four_digits(double value) {
  if (value == 0.0 || !std::isfinite(value)) return 0.0F;
  const double unit = std::pow(10.0, std::floor(std::log10(std::abs(value))) - 3.0);
  return static_cast<float>(std::round(value / unit) * unit);
}

}  // namespace

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text;
  for (const auto extent : shape) text += (text.empty() ? "" : " × ") + std::to_string(extent);
  return text.empty() ? "single numbers" : text;
}

void check_format(const Samples& samples, const SampleFormat& format, const scenario::DataFiles& files) {
  const std::size_t takes = format.inputs.size();
  const std::size_t with_target = format.loss == scenario::LossKind::model ? 1 : 0;
  if (samples.inputs.size() != takes)
    throw DataError(files.inputs.front().parent_path().string() + " holds " +
                    std::to_string(samples.inputs.size() - with_target) + " inputs; the model takes " +
                    std::to_string(takes - with_target));
  for (std::size_t i = 0; i < takes; ++i) {
    if (samples.inputs[i].dim() == 0)
      throw DataError(files.inputs[i].string() + ": holds one number; " + first_dimension);
    const auto& wanted = format.inputs[i].shape;
    const auto found = own_shape(samples.inputs[i]);
    const std::string values = found.size() > 1 ? " (" + std::to_string(product(found)) + " values)" : "";
    if (found != wanted && !(wanted.size() == 1 && product(found) == wanted.front()))
      throw DataError(files.inputs[i].string() + ": its samples are " + shape_text(found) + values +
                      ", the model takes " + shape_text(wanted) + "; choose a model that fits, or save other tensors");
    if (samples.targets.dim() == 0) throw DataError(files.targets.string() + ": holds one number; " + first_dimension);
    same_count(files.inputs[i], samples.inputs[i].size(0), files.targets, samples.targets.size(0));
  }
  if (own_shape(samples.targets) != format.target)
    throw DataError(files.targets.string() + ": has the shape " + shape_text(samples.targets.sizes().vec()) +
                    "; expected samples" + (format.target.empty() ? "" : " × " + shape_text(format.target)) + " for " +
                    scenario::to_string(format.loss) + " of " + std::to_string(format.outputs) + " outputs");
  if (samples.targets.size(0) == 0) throw DataError(files.targets.string() + ": holds no sample");
  for (std::size_t i = 0; i < takes; ++i)
    if (format.inputs[i].type == torch::kLong)
      check_range(samples.inputs[i], format.inputs[i].below, files.inputs[i], "numbers", "the model takes");
  if (format.classes) {
    auto classes = samples.targets;
    // -100 is ignored as in cross_entropy: masked language models use it for unmasked places. One class per sample must
    // remain.
    if (classes.dim() > 1) classes = classes.masked_select(classes.ne(ignored_class));
    if (classes.numel() == 0) throw DataError(files.targets.string() + ": every target is -100, which no loss counts");
    check_range(classes, format.outputs, files.targets, "classes", "the model has outputs for");
  } else if (format.loss == scenario::LossKind::bce) {
    const auto least = samples.targets.min().item<float>(), most = samples.targets.max().item<float>();
    if (!(least >= 0.0F && most <= 1.0F))
      throw DataError(files.targets.string() + ": holds numbers from " + std::to_string(least) + " to " +
                      std::to_string(most) + "; bce takes 0 to 1");
  }
}

Samples read_mnist(const scenario::Workload& workload) {
  const auto files = scenario::find_data_files(workload.data);
  status::set(status::Activity::building_model);
  Samples samples;
  samples.inputs.push_back(as_tensor(read_idx(files.inputs.front(), 3)).unsqueeze(1));
  samples.targets = as_tensor(read_idx(files.targets, 1)).to(torch::kLong);
  check_format(samples, sample_format(workload), files);
  keep_first(samples, workload.data.samples, workload.data.path);
  const auto& images = samples.inputs.front();
  const bool mnist = images.size(2) == 28 && images.size(3) == 28;
  samples.normalization = mnist ? Normalization{{0.1307F}, {0.3081F}} : channel_statistics(images);
  return samples;
}

Samples read_tensors(const scenario::Workload& workload) {
  const auto files = scenario::find_data_files(workload.data);
  const SampleFormat format = sample_format(workload);
  Samples samples;
  for (std::size_t i = 0; i < files.inputs.size(); ++i) {
    const auto type = i < format.inputs.size() ? format.inputs[i].type : torch::kFloat;
    samples.inputs.push_back(as_input(load_tensor(files.inputs[i]), type, files.inputs[i]));
  }
  samples.targets = as_targets(load_tensor(files.targets), format, files.targets);
  scenario::DataFiles all = files;
  if (format.loss == scenario::LossKind::model) {  // the module takes the target as its last argument
    samples.inputs.push_back(samples.targets);
    all.inputs.push_back(files.targets);
  }
  check_format(samples, format, all);
  keep_first(samples, workload.data.samples, workload.data.path);
  return samples;
}

Normalization channel_statistics(const torch::Tensor& images) {
  constexpr std::int64_t at_once = 1024;
  const std::int64_t channels = images.size(1);
  auto sum = torch::zeros({channels}, torch::kDouble), squares = torch::zeros({channels}, torch::kDouble);
  for (std::int64_t from = 0; from < images.size(0); from += at_once) {
    auto part = images.narrow(0, from, std::min(at_once, images.size(0) - from)).to(torch::kDouble);
    if (images.scalar_type() == torch::kByte) part = part / 255.0;
    sum += part.sum({0, 2, 3});
    squares += part.square().sum({0, 2, 3});
  }
  const double count = static_cast<double>(images.numel()) / static_cast<double>(channels);
  Normalization found;
  for (std::int64_t c = 0; c < channels; ++c) {
    const double mean = sum[c].item<double>() / count;
    const double variance = std::max(0.0, squares[c].item<double>() / count - mean * mean);
    const float deviation = four_digits(std::sqrt(variance));
    found.mean.push_back(four_digits(mean));
    found.std.push_back(deviation > 0.0F ? deviation : 1.0F);
  }
  return found;
}

}  // namespace ddpprof::worker
