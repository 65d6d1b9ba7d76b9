#include "runner/worker/models/network.hpp"

#include <stdexcept>

#include "runner/worker/models/dense.hpp"
#include "runner/worker/models/recommender.hpp"
#include "runner/worker/models/script.hpp"
#include "runner/worker/models/transformer.hpp"

namespace ddpprof::worker {
namespace {

using Kind = scenario::Model::Kind;

void build_dense(LayerNetwork& network, const std::vector<std::int64_t>& widths) {
  // Numbered as in Python's nn.Sequential: layer 2i is the i-th Linear, odd layers are the ReLUs between.
  for (std::size_t i = 0; i + 1 < widths.size(); ++i) {
    if (i > 0) network.add(std::to_string(2 * i - 1), torch::nn::AnyModule(torch::nn::ReLU()));
    network.add(std::to_string(2 * i), torch::nn::AnyModule(Dense(widths[i], widths[i + 1])));
  }
}

}  // namespace

std::shared_ptr<torch::nn::Module> Network::clone(const std::optional<torch::Device>& device) const {
  const torch::NoGradGuard no_grad;
  const auto copy = blank();
  const auto fill = [&](std::vector<torch::Tensor> to, const std::vector<torch::Tensor>& from) {
    for (std::size_t i = 0; i < from.size(); ++i)
      to[i].set_data(device && from[i].device() != *device ? from[i].to(*device) : from[i].clone());
  };
  fill(copy->parameters(), parameters());
  fill(copy->buffers(), buffers());
  copy->train(is_training());
  return copy;
}

Network::State Network::state() const {
  State state;
  for (const auto& item : named_parameters()) state.emplace_back(item.key(), item.value().detach());
  for (const auto& item : named_buffers()) state.emplace_back(item.key(), item.value().detach());
  return state;
}

LayerNetwork::LayerNetwork(scenario::Model model) : Network(std::move(model)) {
  const scenario::Model& own = Network::model();
  switch (own.kind) {
    case Kind::linear:
    case Kind::mlp:
      if (own.widths.size() < 2)
        throw std::invalid_argument("a linear or MLP model needs at least two widths (in, out)");
      build_dense(*this, own.widths);
      break;
    case Kind::resnet18:
    case Kind::resnet50:
      build_resnet(*this, own.kind, own.classes);
      break;
    default:
      throw std::invalid_argument("not a model of layers one after another");
  }
}

torch::Tensor LayerNetwork::forward(const std::vector<torch::Tensor>& inputs) {
  torch::Tensor value = inputs.at(0);
  for (auto& layer : layers_) value = layer.forward(std::move(value));
  return value;
}

void LayerNetwork::add(const std::string& name, torch::nn::AnyModule layer) {
  register_module<torch::nn::Module>(name, layer.ptr());
  layers_.push_back(std::move(layer));
}

std::shared_ptr<Network> make_network(const scenario::Model& model, std::uint64_t seed) {
  torch::manual_seed(seed);
  switch (model.kind) {
    case Kind::linear:
    case Kind::mlp:
    case Kind::resnet18:
    case Kind::resnet50:
      return std::make_shared<LayerNetwork>(model);
    case Kind::gpt:
      return std::make_shared<GptNetwork>(model);
    case Kind::bert:
      return std::make_shared<BertNetwork>(model);
    case Kind::recommender:
      return std::make_shared<RecommenderNetwork>(model);
    case Kind::torchscript:
      return std::make_shared<ScriptNetwork>(model);
  }
  throw std::invalid_argument("unknown model");
}

std::shared_ptr<Network> clone_network(const Network& network) {
  return std::dynamic_pointer_cast<Network>(network.clone());
}

std::vector<torch::Tensor> trainable_parameters(const torch::nn::Module& module) {
  std::vector<torch::Tensor> trainable;
  for (const auto& parameter : module.parameters())
    if (parameter.requires_grad()) trainable.push_back(parameter);
  return trainable;
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

namespace {
std::uint64_t hash_of(const std::vector<torch::Tensor>& tensors) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const auto& tensor : tensors) {
    const auto host = tensor.detach().cpu().contiguous();
    const auto* bytes = static_cast<const unsigned char*>(host.const_data_ptr());
    for (std::size_t i = 0; i < host.nbytes(); ++i) hash = (hash ^ bytes[i]) * 1099511628211ULL;
  }
  return hash;
}
}  // namespace

std::uint64_t hash_parameters(const torch::nn::Module& module) { return hash_of(module.parameters()); }
std::uint64_t hash_buffers(const torch::nn::Module& module) { return hash_of(module.buffers()); }

}  // namespace ddpprof::worker
