// One forward and backward pass: under DDP, without DDP, or over DataParallel's replicas.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runner/scenario/scenario.hpp"
#include "runner/worker/data/dataset.hpp"
#include "runner/worker/ddp/distributed_data_parallel.hpp"
#include "runner/worker/models/network.hpp"
#include "runner/worker/torch.hpp"
#include "simulator/learning_rate/schedule.hpp"

namespace ddpprof::worker {

// How a pass turns inputs into a loss.
struct PassOptions {
  // NOLINTNEXTLINE(google-explicit-constructor): a loss without precision means full precision
  PassOptions(scenario::LossKind own_loss, scenario::Precision own_precision = scenario::Precision::fp32)
      : loss(own_loss), autocast(own_precision == scenario::Precision::bf16) {}
  explicit PassOptions(const scenario::Workload& workload) : PassOptions(workload.loss, workload.precision) {}

  scenario::LossKind loss;
  bool autocast;  // forward and loss in bfloat16
};

class Trainer {
 public:
  virtual ~Trainer() = default;

  // Runs forward, loss / `loss_divisor` and backward, each in its range. Gradients accumulate. `synchronize`: true for
  // the last micro-batch before the optimizer. Returns the divided loss, detached.
  virtual torch::Tensor pass(const Dataset::Batch& batch, bool synchronize, double loss_divisor) = 0;
  virtual Network& network() = 0;  // the parameters that the optimizer changes

  // Like Python's optimizer.zero_grad(): removes the gradients, bucket views included. The next backward copies its
  // gradient into the bucket and restores the view. (LibTorch's own zero_grad() throws on such a view.)
  void zero_gradients();
};

// Uses c10d::Reducer.
class DdpTrainer : public Trainer {
 public:
  DdpTrainer(std::shared_ptr<Network> network, Group& group, const scenario::Scenario& scenario);
  torch::Tensor pass(const Dataset::Batch& batch, bool synchronize, double loss_divisor) override;
  Network& network() override { return *ddp_.module(); }
  DistributedDataParallel& ddp() { return ddp_; }

 private:
  DistributedDataParallel ddp_;
  PassOptions options_;
};

// The same model and pass without communication: DDP without its wrapper, DataParallel on one device. Gradient-ready
// marks are set as with DDP, so that both can be compared.
class PlainTrainer : public Trainer {
 public:
  PlainTrainer(std::shared_ptr<Network> network, PassOptions options);
  torch::Tensor pass(const Dataset::Batch& batch, bool synchronize, double loss_divisor) override;
  Network& network() override { return *network_; }

 private:
  std::shared_ptr<Network> network_;
  PassOptions options_;
  bool synchronizing_ = false;
  std::vector<std::shared_ptr<torch::autograd::Node>> accumulators_;
};

// Settings of a learning-rate rule for the optimizer, besides the rate. The defaults mean PyTorch's own optimizers.
struct RuleSettings {
  learning_rate::Rule rule = learning_rate::Rule::none;  // lars replaces SGD, lamb replaces AdamW
  double trust = 0.001;                                  // LARS' eta
  learning_rate::AdamSettings adam = {};                 // betas and epsilon of Adam and AdamW
};
std::unique_ptr<torch::optim::Optimizer> make_optimizer(const Network& network, const scenario::Optimizer& options,
                                                        double rate, const RuleSettings& settings = {});

}  // namespace ddpprof::worker
