// The models that are trained: Linear, MLP, ResNet-18 and ResNet-50, behind one cloneable module.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runner/scenario/scenario.hpp"
#include "runner/worker/torch.hpp"

namespace ddpprof::worker {

// Layers applied one after another. Copying through clone() gives distinct storage, as LibTorch's replicate needs.
class Network : public torch::nn::Cloneable<Network> {
 public:
  explicit Network(scenario::Model model);
  void reset() override;  // builds the layers anew with fresh initial weights
  torch::Tensor forward(torch::Tensor input);

  const scenario::Model& model() const { return model_; }

  void add(const std::string& name, torch::nn::AnyModule layer);  // for the builders of models/

 private:
  scenario::Model model_;
  std::vector<torch::nn::AnyModule> layers_;
};

// Initial weights depend on the seed alone (LibTorch's default generator is seeded with it).
std::shared_ptr<Network> make_network(const scenario::Model& model, std::uint64_t seed);
std::shared_ptr<Network> clone_network(const Network& network);

std::int64_t count_parameters(const torch::nn::Module& module);  // elements
std::int64_t parameter_bytes(const torch::nn::Module& module);
std::vector<std::int64_t> sample_shape(const scenario::Model& model);  // one input, without the batch dimension
std::int64_t output_width(const scenario::Model& model);

// FNV-1a (64 bit) over the parameters' bytes in registration order: equal on two ranks when their models are.
std::uint64_t hash_parameters(const torch::nn::Module& module);

// torchvision's ResNet (He et al. 2016; in the 50-layer one the stride sits in the 3×3 convolution, "v1.5").
void build_resnet(Network& network, scenario::Model::Kind kind, std::int64_t classes);

}  // namespace ddpprof::worker
