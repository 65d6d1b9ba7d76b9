// The models that are trained, behind one cloneable module that takes one or several inputs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runner/scenario/scenario.hpp"
#include "runner/worker/torch.hpp"

namespace ddpprof::worker {

class Network : public torch::nn::Module {
 public:
  // Each input is batch × its own shape. Returns the input of the loss.
  virtual torch::Tensor forward(const std::vector<torch::Tensor>& inputs) = 0;

  // Returns a copy with the same weights in separate storage, as LibTorch's replicate requires.
  std::shared_ptr<torch::nn::Module> clone(const std::optional<torch::Device>& device = std::nullopt) const override;

  const scenario::Model& model() const { return model_; }

  // Parameters and buffers by name, like Python's state_dict(). A tensor with two names is listed under both.
  using State = std::vector<std::pair<std::string, torch::Tensor>>;
  virtual State state() const;

 protected:
  explicit Network(scenario::Model model) : model_(std::move(model)) {}
  virtual std::shared_ptr<Network> blank() const = 0;  // returns the same layers with any weights

 private:
  scenario::Model model_;
};

// Layers applied one after another to one input.
class LayerNetwork : public Network {
 public:
  explicit LayerNetwork(scenario::Model model);
  torch::Tensor forward(const std::vector<torch::Tensor>& inputs) override;

  void add(const std::string& name, torch::nn::AnyModule layer);  // for the builders of models/

 private:
  std::shared_ptr<Network> blank() const override { return std::make_shared<LayerNetwork>(model()); }

  std::vector<torch::nn::AnyModule> layers_;
};

// Initial weights depend only on the seed (LibTorch's default generator is seeded with it).
std::shared_ptr<Network> make_network(const scenario::Model& model, std::uint64_t seed);
std::shared_ptr<Network> clone_network(const Network& network);

std::vector<torch::Tensor> trainable_parameters(const torch::nn::Module& module);  // in registration order
std::int64_t count_parameters(const torch::nn::Module& module);                    // elements
std::int64_t parameter_bytes(const torch::nn::Module& module);

// FNV-1a (64 bit) over the tensors' bytes in registration order. Equal on two ranks if their models are equal.
std::uint64_t hash_parameters(const torch::nn::Module& module);
std::uint64_t hash_buffers(const torch::nn::Module& module);

// torchvision's ResNet (He et al. 2016; with 50 layers the stride is in the 3×3 convolution, "v1.5").
void build_resnet(LayerNetwork& network, scenario::Model::Kind kind, std::int64_t classes);

}  // namespace ddpprof::worker
