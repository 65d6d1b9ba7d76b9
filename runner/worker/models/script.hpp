// A user's own model: a TorchScript module from a file, trained as it is.
#pragma once

#include <torch/script.h>

#include "runner/worker/models/network.hpp"

namespace ddpprof::worker {

// Its parameters and buffers stand in this module under the script's own names and share storage with it. Operators run
// one by one, as eager Python would run them: no fusion, no symbolic differentiation, or gradients would come in larger
// portions than they do in the user's job. Throws scenario::DataError naming the file when it cannot be read or has no
// parameter to train, std::runtime_error when forward() does not take the scenario's inputs or returns no tensor.
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
