#include "runner/worker/loop/dump.hpp"

#include <fstream>
#include <stdexcept>

namespace ddpprof::worker {

Dump::Dump(std::filesystem::path folder, int rank, std::int64_t batch_steps, std::int64_t gradient_steps)
    : folder_(std::move(folder)),
      prefix_("rank" + std::to_string(rank) + "."),
      batch_steps_(batch_steps),
      gradient_steps_(gradient_steps) {
  std::filesystem::create_directories(folder_);
  index_["rank"] = rank;
  index_["batches"] = nlohmann::json::array();
}

std::string Dump::write(const std::string& name, const std::vector<torch::Tensor>& tensors) {
  const auto path = folder_ / (prefix_ + name);
  std::ofstream file(path, std::ios::binary);
  for (const auto& tensor : tensors) {
    const auto host = tensor.detach().cpu().contiguous();
    file.write(static_cast<const char*>(host.const_data_ptr()), static_cast<std::streamsize>(host.nbytes()));
  }
  file.close();
  if (!file) throw std::runtime_error("cannot write " + path.string());
  return path.filename().string();
}

nlohmann::json Dump::describe(const std::string& name, const torch::Tensor& tensor) {
  return {{"file", write(name, {tensor})},
          {"shape", tensor.sizes().vec()},
          {"type", tensor.is_floating_point() ? "float32" : "int64"}};
}

void Dump::initial(const Network& network) {
  for (const auto& item : network.named_parameters())
    index_["parameters"].push_back({{"name", item.key()}, {"shape", item.value().sizes().vec()}});
  index_["initial"] = write("initial.f32", network.parameters());
}

void Dump::batch(std::int64_t step, const std::vector<std::int64_t>& indices, const std::vector<torch::Tensor>& inputs,
                 const torch::Tensor& targets) {
  nlohmann::json entry{{"step", step}, {"indices", indices}};
  if (step < batch_steps_) {
    const auto part = std::to_string(index_["batches"].size());
    for (std::size_t i = 0; i < inputs.size(); ++i)
      entry["inputs"].push_back(describe("inputs" + part + "." + std::to_string(i) + ".bin", inputs[i]));
    entry["targets"] = describe("targets" + part + ".bin", targets);
  }
  index_["batches"].push_back(std::move(entry));
}

void Dump::gradients(std::int64_t step, const Network& network) {
  if (step >= gradient_steps_) return;
  std::vector<torch::Tensor> gradients;
  for (const auto& parameter : network.parameters())
    gradients.push_back(parameter.grad().defined() ? parameter.grad() : torch::zeros_like(parameter));
  index_["gradients"].push_back(write("gradients" + std::to_string(step) + ".f32", gradients));
}

void Dump::finish(const Network& network, const std::vector<std::vector<std::size_t>>& first_buckets,
                  const std::vector<std::vector<std::size_t>>& rebuilt_buckets) {
  index_["final"] = write("final.f32", network.parameters());
  std::vector<torch::Tensor> statistics;
  for (const auto& buffer : network.buffers())
    if (buffer.scalar_type() == torch::kFloat) statistics.push_back(buffer);
  index_["buffers"] = write("buffers.f32", statistics);
  index_["first_buckets"] = first_buckets;
  index_["rebuilt_buckets"] = rebuilt_buckets;
  const auto path = folder_ / (prefix_ + "json");
  std::ofstream file(path);
  file << index_.dump(1) << '\n';
  file.close();
  if (!file) throw std::runtime_error("cannot write " + path.string());
}

}  // namespace ddpprof::worker
