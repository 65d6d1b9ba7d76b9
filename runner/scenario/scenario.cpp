#include "runner/scenario/scenario.hpp"

#include <filesystem>

namespace ddpprof::scenario {

std::vector<std::int64_t> measured_batches(const Scenario& scenario) {
  return scenario.measure.batches.empty() ? std::vector{scenario.workload.batch_per_worker} : scenario.measure.batches;
}

Scenario with_batch(Scenario scenario, std::int64_t batch_per_worker) {
  scenario.workload.batch_per_worker = batch_per_worker;
  scenario.measure.batches.clear();
  return scenario;
}

std::filesystem::path checkpoint_path(const Checkpoint& checkpoint, Strategy strategy, std::int64_t workers) {
  return std::filesystem::path(checkpoint.folder) / (to_string(strategy) + ("-" + std::to_string(workers)) + ".pt");
}

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
    case Model::Kind::gpt:
      return "gpt";
    case Model::Kind::bert:
      return "bert";
    case Model::Kind::recommender:
      return "recommender";
    case Model::Kind::torchscript:
      return "torchscript";
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
    case BackendChoice::mpi:
      return "mpi";
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
    case OptimizerKind::adamw:
      return "adamw";
  }
  return "unknown";
}

const char* to_string(Precision precision) {
  switch (precision) {
    case Precision::fp32:
      return "fp32";
    case Precision::bf16:
      return "bf16";
  }
  return "unknown";
}

const char* to_string(LossKind loss) {
  switch (loss) {
    case LossKind::cross_entropy:
      return "cross_entropy";
    case LossKind::mse:
      return "mse";
    case LossKind::bce:
      return "bce";
    case LossKind::model:
      return "model";
  }
  return "unknown";
}

const char* to_string(Compression compression) {
  switch (compression) {
    case Compression::none:
      return "none";
    case Compression::fp16:
      return "fp16";
  }
  return "unknown";
}

const char* to_string(DataSource source) {
  switch (source) {
    case DataSource::synthetic:
      return "synthetic";
    case DataSource::mnist:
      return "mnist";
    case DataSource::tensors:
      return "tensors";
  }
  return "unknown";
}

const char* to_string(DataSplit split) {
  switch (split) {
    case DataSplit::train:
      return "train";
    case DataSplit::test:
      return "test";
  }
  return "unknown";
}

const char* to_string(Sampling sampling) {
  switch (sampling) {
    case Sampling::uniform:
      return "uniform";
    case Sampling::balanced:
      return "balanced";
  }
  return "unknown";
}

const char* to_string(Transform transform) {
  switch (transform) {
    case Transform::none:
      return "none";
    case Transform::augment:
      return "augment";
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

const char* to_string(JobTracer tracer) {
  switch (tracer) {
    case JobTracer::torch:
      return "torch";
    case JobTracer::own:
      return "own";
  }
  return "unknown";
}

const char* to_string(DeviceSync sync) {
  switch (sync) {
    case DeviceSync::every_step:
      return "every_step";
    case DeviceSync::never:
      return "never";
  }
  return "unknown";
}

std::optional<std::int64_t> Data::known_samples() const {
  if (samples || source != DataSource::synthetic) return samples;
  return synthetic_samples;
}

std::int64_t Model::vocabulary_size() const { return vocabulary.value_or(kind == Kind::bert ? 30522 : 50257); }
std::int64_t Model::position_count() const { return positions.value_or(kind == Kind::bert ? 512 : 1024); }
std::int64_t Model::tokens() const { return sequence.value_or(position_count()); }

std::string Model::label() const {
  std::string text = to_string(kind);
  switch (kind) {
    case Kind::linear:
    case Kind::mlp:
      for (const std::int64_t own : widths) text += "-" + std::to_string(own);
      break;
    case Kind::resnet18:
    case Kind::resnet50:
      break;
    case Kind::gpt:
    case Kind::bert:
      text += "-" + std::to_string(layers) + "x" + std::to_string(width);
      break;
    case Kind::recommender:
      text += "-" + std::to_string(tables) + "x" + std::to_string(rows) + "x" + std::to_string(embedding);
      break;
    case Kind::torchscript:
      text += "-" + std::filesystem::path(file).stem().string();
      break;
  }
  return text;
}

std::int64_t Model::outputs() const {
  switch (kind) {
    case Kind::linear:
    case Kind::mlp:
      return widths.empty() ? 0 : widths.back();
    case Kind::resnet18:
    case Kind::resnet50:
      return classes;
    case Kind::gpt:
    case Kind::bert:
      return vocabulary_size();
    case Kind::recommender:
      return 1;
    case Kind::torchscript:
      break;
  }
  return 0;
}

}  // namespace ddpprof::scenario
