#include "runner/worker/models/network.hpp"

#include <stdexcept>

namespace ddpprof::worker {
namespace {

using Kind = scenario::Model::Kind;

void build_dense(Network& network, const std::vector<std::int64_t>& widths) {
  // Python's nn.Sequential numbering: layer 2i is the i-th Linear, the odd ones are the ReLUs between.
  for (std::size_t i = 0; i + 1 < widths.size(); ++i) {
    if (i > 0) network.add(std::to_string(2 * i - 1), torch::nn::AnyModule(torch::nn::ReLU()));
    network.add(std::to_string(2 * i), torch::nn::AnyModule(torch::nn::Linear(widths[i], widths[i + 1])));
  }
}

}  // namespace

Network::Network(scenario::Model model) : model_(std::move(model)) { reset(); }

void Network::reset() {
  layers_.clear();
  switch (model_.kind) {
    case Kind::linear:
    case Kind::mlp:
      if (model_.widths.size() < 2)
        throw std::invalid_argument("a linear or MLP model needs at least two widths (in, out)");
      build_dense(*this, model_.widths);
      break;
    case Kind::resnet18:
    case Kind::resnet50:
      build_resnet(*this, model_.kind, model_.classes);
      break;
  }
}

torch::Tensor Network::forward(torch::Tensor input) {
  for (auto& layer : layers_) input = layer.forward(std::move(input));
  return input;
}

void Network::add(const std::string& name, torch::nn::AnyModule layer) {
  register_module<torch::nn::Module>(name, layer.ptr());
  layers_.push_back(std::move(layer));
}

std::shared_ptr<Network> make_network(const scenario::Model& model, std::uint64_t seed) {
  torch::manual_seed(seed);
  return std::make_shared<Network>(model);
}

std::shared_ptr<Network> clone_network(const Network& network) {
  return std::dynamic_pointer_cast<Network>(network.clone());
}

std::int64_t count_parameters(const torch::nn::Module& module) {
  std::int64_t count = 0;
  for (const auto& parameter : module.parameters()) count += parameter.numel();
  return count;
}

std::int64_t parameter_bytes(const torch::nn::Module& module) {
  std::int64_t bytes = 0;
  for (const auto& parameter : module.parameters()) bytes += static_cast<std::int64_t>(parameter.nbytes());
  return bytes;
}

std::vector<std::int64_t> sample_shape(const scenario::Model& model) {
  if (model.kind == Kind::linear || model.kind == Kind::mlp) return {model.widths.front()};
  return {3, model.image_size, model.image_size};
}

std::int64_t output_width(const scenario::Model& model) {
  return model.kind == Kind::linear || model.kind == Kind::mlp ? model.widths.back() : model.classes;
}

std::uint64_t hash_parameters(const torch::nn::Module& module) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const auto& parameter : module.parameters()) {
    const auto host = parameter.detach().cpu().contiguous();
    const auto* bytes = static_cast<const unsigned char*>(host.const_data_ptr());
    for (std::size_t i = 0; i < host.nbytes(); ++i) hash = (hash ^ bytes[i]) * 1099511628211ULL;
  }
  return hash;
}

}  // namespace ddpprof::worker
