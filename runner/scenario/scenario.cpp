#include "runner/scenario/scenario.hpp"

namespace ddpprof::scenario {

const char* to_string(Model::Kind kind) {
  switch (kind) {
    case Model::Kind::linear:
      return "linear";
    case Model::Kind::mlp:
      return "mlp";
    case Model::Kind::resnet18:
      return "resnet18";
    case Model::Kind::resnet50:
      return "resnet50";
  }
  return "unknown";
}

const char* to_string(Strategy strategy) {
  switch (strategy) {
    case Strategy::ddp:
      return "ddp";
    case Strategy::dp:
      return "dp";
  }
  return "unknown";
}

const char* to_string(BackendChoice backend) {
  switch (backend) {
    case BackendChoice::automatic:
      return "auto";
    case BackendChoice::gloo:
      return "gloo";
    case BackendChoice::nccl:
      return "nccl";
  }
  return "unknown";
}

const char* to_string(DeviceChoice device) {
  switch (device) {
    case DeviceChoice::automatic:
      return "auto";
    case DeviceChoice::cpu:
      return "cpu";
    case DeviceChoice::cuda:
      return "cuda";
  }
  return "unknown";
}

const char* to_string(OptimizerKind kind) {
  switch (kind) {
    case OptimizerKind::sgd:
      return "sgd";
    case OptimizerKind::adam:
      return "adam";
  }
  return "unknown";
}

const char* to_string(Precision precision) {
  switch (precision) {
    case Precision::fp32:
      return "fp32";
  }
  return "unknown";
}

const char* to_string(LossKind loss) {
  switch (loss) {
    case LossKind::cross_entropy:
      return "cross_entropy";
    case LossKind::mse:
      return "mse";
  }
  return "unknown";
}

const char* to_string(RawEvents raw) {
  switch (raw) {
    case RawEvents::all:
      return "all";
    case RawEvents::rank0:
      return "rank0";
    case RawEvents::none:
      return "none";
  }
  return "unknown";
}

const char* to_string(Sharing sharing) {
  switch (sharing) {
    case Sharing::machine:
      return "machine";
    case Sharing::dedicated:
      return "dedicated";
  }
  return "unknown";
}

const char* to_string(LearningRateRule rule) {
  switch (rule) {
    case LearningRateRule::linear:
      return "linear";
  }
  return "unknown";
}

std::string Model::label() const {
  std::string text = to_string(kind);
  for (const std::int64_t width : widths) text += "-" + std::to_string(width);
  return text;
}

std::int64_t Model::outputs() const {
  if (kind == Kind::resnet18 || kind == Kind::resnet50) return classes;
  return widths.empty() ? 0 : widths.back();
}

}  // namespace ddpprof::scenario
