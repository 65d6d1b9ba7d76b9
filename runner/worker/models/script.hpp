// A user's own model: a TorchScript module from a file.
#pragma once

#include <torch/script.h>

#include "runner/worker/models/network.hpp"

namespace ddpprof::worker {

// Parameters and buffers have the names of the script and share its storage. Operators run one by one, as in eager
// Python. Fusion and symbolic differentiation are off: with them, gradients would become ready in larger groups than in
// the user's job. Throws scenario::DataError, which names the file, if it cannot be read or has no parameter to train.
// Throws std::runtime_error if forward() does not accept the scenario's inputs or does not return a tensor.
class ScriptNetwork : public Network {
 public:
  explicit ScriptNetwork(scenario::Model model);
  torch::Tensor forward(const std::vector<torch::Tensor>& inputs) override;
  void train(bool on = true) override;
  State state() const override;

 private:
  ScriptNetwork(scenario::Model model, torch::jit::Module module);
  std::shared_ptr<Network> blank() const override;
  void adopt();

  torch::jit::Module module_;
};

}  // namespace ddpprof::worker
