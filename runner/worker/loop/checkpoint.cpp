#include "runner/worker/loop/checkpoint.hpp"

#include <stdexcept>

namespace ddpprof::worker {
namespace {

constexpr std::int64_t format = 1;

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

// A model's tensors by name; LibTorch's archives take no dots in names.
torch::serialize::OutputArchive tensors_of(const torch::OrderedDict<std::string, torch::Tensor>& named) {
  torch::serialize::OutputArchive archive;
  std::int64_t index = 0;
  for (const auto& item : named) {
    archive.write("name" + std::to_string(index), c10::IValue(item.key()));
    archive.write("tensor" + std::to_string(index++), item.value().detach());
  }
  archive.write("count", c10::IValue(index));
  return archive;
}

void fill(torch::serialize::InputArchive& archive, const torch::OrderedDict<std::string, torch::Tensor>& named,
          const std::string& what) {
  const torch::NoGradGuard no_grad;
  c10::IValue count;
  archive.read("count", count);
  if (count.toInt() != static_cast<std::int64_t>(named.size()))
    throw std::runtime_error("it holds " + std::to_string(count.toInt()) + " " + what + ", the model has " +
                             std::to_string(named.size()));
  std::int64_t index = 0;
  for (const auto& item : named) {
    c10::IValue name;
    torch::Tensor value;
    archive.read("name" + std::to_string(index), name);
    archive.read("tensor" + std::to_string(index++), value);
    if (name.toStringRef() != item.key() || value.sizes() != item.value().sizes())
      throw std::runtime_error("it holds " + name.toStringRef() + " of shape " + c10::str(value.sizes()) +
                               " where the model has " + item.key() + " of shape " + c10::str(item.value().sizes()));
    item.value().copy_(value);
  }
}

}  // namespace

void save_checkpoint(const std::filesystem::path& path, const Network& network, const torch::optim::Optimizer& optimizer,
                     const Progress& progress) {
  auto partial = path;
  partial += ".partial";
  try {
    torch::serialize::OutputArchive archive, optimizer_archive;
    archive.write("format", c10::IValue(format));
    archive.write("model", c10::IValue(network.model().label()));
    archive.write("steps", c10::IValue(progress.steps));
    archive.write("samples", c10::IValue(progress.samples));
    auto parameters = tensors_of(network.named_parameters()), buffers = tensors_of(network.named_buffers());
    archive.write("parameters", parameters);
    archive.write("buffers", buffers);
    optimizer.save(optimizer_archive);
    archive.write("optimizer", optimizer_archive);
    archive.save_to(partial.string());
    std::filesystem::rename(partial, path);
  } catch (const std::exception& error) {
    std::error_code ignored;
    std::filesystem::remove(partial, ignored);
    throw std::runtime_error("cannot write the checkpoint " + path.string() + ": " + first_line(error.what()));
  }
}

Progress load_checkpoint(const std::filesystem::path& path, Network& network, torch::optim::Optimizer& optimizer) {
  if (!std::filesystem::is_regular_file(path))
    throw std::runtime_error("checkpoint.resume: " + path.string() + ": no such file");
  try {
    torch::serialize::InputArchive archive, parameters, buffers, optimizer_archive;
    archive.load_from(path.string(), torch::kCPU);
    c10::IValue own_format, model, steps, samples;
    if (!archive.try_read("format", own_format) || !own_format.isInt() || own_format.toInt() != format)
      throw std::runtime_error("not a checkpoint of this program's format " + std::to_string(format));
    archive.read("model", model);
    if (model.toStringRef() != network.model().label())
      throw std::runtime_error("it is of the model " + model.toStringRef() + ", this run trains " +
                               network.model().label());
    archive.read("steps", steps);
    archive.read("samples", samples);
    archive.read("parameters", parameters);
    archive.read("buffers", buffers);
    archive.read("optimizer", optimizer_archive);
    fill(parameters, network.named_parameters(), "parameters");
    fill(buffers, network.named_buffers(), "buffers");
    optimizer.load(optimizer_archive);
    return {steps.toInt(), samples.toInt()};
  } catch (const std::exception& error) {
    throw std::runtime_error("checkpoint.resume: " + path.string() + ": " + first_line(error.what()));
  }
}

}  // namespace ddpprof::worker
