// One forward and backward, however it is spread: under DDP, without it, or over DataParallel's replicas.
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
  // NOLINTNEXTLINE(google-explicit-constructor): a loss alone is a pass in full precision
  PassOptions(scenario::LossKind own_loss, scenario::Precision own_precision = scenario::Precision::fp32)
      : loss(own_loss), autocast(own_precision == scenario::Precision::bf16) {}
  explicit PassOptions(const scenario::Workload& workload) : PassOptions(workload.loss, workload.precision) {}

  scenario::LossKind loss;
  bool autocast;  // to bfloat16: forward and loss
};

class Trainer {
 public:
  virtual ~Trainer() = default;

  // Forward, loss / `loss_divisor`, backward, each in its range; gradients accumulate. `synchronize`: the last
  // micro-batch before the optimizer. Returns the (divided) loss, detached.
  virtual torch::Tensor pass(const Dataset::Batch& batch, bool synchronize, double loss_divisor) = 0;
  virtual Network& network() = 0;  // the parameters that the optimizer changes

  // As Python's optimizer.zero_grad(), whose default drops gradients, bucket views too: the next backward's gradient is
  // copied into the bucket and the view put back. (LibTorch's own zero_grad() throws on such a view.)
  void zero_gradients();
};

// Through c10d::Reducer.
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

// The same model and pass without any communication: DDP's without its wrapper, DataParallel's on one device.
// Gradient-ready marks stay, so that the two can be compared.
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

// What a learning-rate rule asks of the optimizer beside the rate; as it is here: PyTorch's own optimizers.
struct RuleSettings {
  learning_rate::Rule rule = learning_rate::Rule::none;  // lars in the place of SGD, lamb of AdamW
  double trust = 0.001;                                  // LARS' eta
  learning_rate::AdamSettings adam = {};                 // betas and epsilon of Adam and AdamW
};
std::unique_ptr<torch::optim::Optimizer> make_optimizer(const Network& network, const scenario::Optimizer& options,
                                                        double rate, const RuleSettings& settings = {});

}  // namespace ddpprof::worker
