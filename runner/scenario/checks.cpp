#include "runner/scenario/checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>

#include "runner/scenario/tensor_spec.hpp"
#include "simulator/collective/node_links.hpp"

namespace ddpprof::scenario {
namespace {

constexpr std::int64_t mnist_classes = 10;

class Checks {
 public:
  Checks(const Scenario& scenario, const BrokenKeys& broken, Tree& tree)
      : scenario_(scenario), broken_(broken), tree_(tree) {}

  void run() {
    name();
    if (scenario_.has_command() || broken_.contains("workload.command")) return command();
    loss();
    transformer();
    torchscript();
    ddp();
    batch_norm();
    data_source();
    mnist_fits();
    classes();
    images();
    samples();
    samples_per_step();
    strategies();
    backend();
    measure();
    batches();
    sync();
    optimizer();
    inter_node();
    check_learning_rate(scenario_, broken_, tree_);
    checkpoint();
    output();
  }

 private:
  bool sound(std::initializer_list<std::string_view> keys) const { return none_of(broken_, keys); }
  bool has(Strategy strategy) const {
    return std::ranges::find(scenario_.strategies, strategy) != scenario_.strategies.end();
  }
  bool sound_model() const {
    return sound(
        {"workload.model.kind",    "workload.model.in",         "workload.model.out",       "workload.model.widths",
         "workload.model.classes", "workload.model.image_size", "workload.model.layers",    "workload.model.heads",
         "workload.model.width",   "workload.model.vocabulary", "workload.model.positions", "workload.model.sequence",
         "workload.model.tables",  "workload.model.rows",       "workload.model.embedding", "workload.model.dense",
         "workload.model.hidden",  "workload.model.file",       "workload.model.inputs",    "workload.model.target"});
  }
  bool resnet() const {
    const Model::Kind kind = scenario_.workload.model.kind;
    return kind == Model::Kind::resnet18 || kind == Model::Kind::resnet50;
  }

  void name() {
    if (!sound({"name"})) return;
    const std::string& name = scenario_.name;
    const auto alphanumeric = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
    const auto allowed = [&](char c) { return alphanumeric(c) || c == '.' || c == '_' || c == '-'; };
    if (!name.empty() && name.size() <= 100 && alphanumeric(name[0]) && std::ranges::all_of(name, allowed)) return;
    const std::string found = name.empty()        ? "empty text"
                              : name.size() > 100 ? fmt::format("{} characters", name.size())
                                                  : fmt::format("'{}'", name);
    tree_.complain_at({"name"}, fmt::format("expected {}; found {}", allowed_text(*find_key("name")), found));
  }

  // Values of placeholders and the window of steps are checked where they are used (cli/jobs/run_job.hpp).
  void command() {
    if (sound({"workload.command"}) && scenario_.command.words.front().empty())
      tree_.complain_at({"workload.command"}, "expected a program as the first word; found empty text");
    inter_node();
    output();
  }

  void loss() {
    if (!sound({"workload.loss"}) || !sound_model()) return;
    const LossKind kind = scenario_.workload.loss;
    const Model& model = scenario_.workload.model;
    const bool tokens = model.kind == Model::Kind::gpt || model.kind == Model::Kind::bert;
    if (tokens && kind != LossKind::cross_entropy) {
      return tree_.complain_at({"workload.loss"},
                               fmt::format("a {} predicts tokens; expected 'cross_entropy', found '{}'",
                                           to_string(model.kind), to_string(kind)));
    }
    if (model.kind == Model::Kind::recommender && kind != LossKind::bce && kind != LossKind::mse) {
      return tree_.complain_at({"workload.loss", "workload.model.kind"},
                               fmt::format("a recommender has one output per sample; expected 'loss: bce' (or mse), "
                                           "found '{}'",
                                           to_string(kind)));
    }
    if (kind == LossKind::model && model.kind != Model::Kind::torchscript) {
      return tree_.complain_at({"workload.loss"},
                               "only a torchscript model can return its own loss; expected cross_entropy, mse or bce");
    }
    if (kind == LossKind::model && has(Strategy::dp)) {
      return tree_.complain_at(
          {"workload.loss"},
          "each replica would return the loss of its own part, and DataParallel gathers outputs, not "
          "losses; expected a loss on the output, or 'strategies: [ddp]'");
    }
    if (scenario_.workload.loss != LossKind::cross_entropy || scenario_.workload.model.outputs() != 1) return;
    tree_.complain_at({"workload.loss", "workload.model.out", "workload.model.widths", "workload.model.classes"},
                      "cross_entropy of a model with 1 output is always 0; expected 'loss: mse', or 2 outputs or more");
  }

  void transformer() {
    const Model& model = scenario_.workload.model;
    if (model.kind != Model::Kind::gpt && model.kind != Model::Kind::bert) return;
    if (sound({"workload.model.heads", "workload.model.width"}) && model.width % model.heads != 0) {
      tree_.complain_at({"workload.model.heads", "workload.model.width"},
                        fmt::format("a width of {1} is not a multiple of {0} heads; expected a divisor of the width",
                                    model.heads, model.width));
    }
    if (sound({"workload.model.sequence", "workload.model.positions"}) && model.tokens() > model.position_count()) {
      tree_.complain_at({"workload.model.sequence"},
                        fmt::format("{} tokens, but only {} positions; expected at most as many tokens as positions",
                                    model.tokens(), model.position_count()));
    }
  }

  void torchscript() {
    const Workload& workload = scenario_.workload;
    const Model& model = workload.model;
    if (model.kind != Model::Kind::torchscript) return;
    const auto check = [&](std::string_view key, const std::string& text) -> std::optional<TensorSpec> {
      std::string why;
      auto spec = parse_tensor_spec(text, why);
      if (!spec)
        tree_.complain_at({key}, fmt::format("'{}' is not a tensor type: {}; e.g. float32[3,224,224]", text, why));
      return spec;
    };
    if (sound({"workload.model.inputs"}))
      for (const std::string& text : model.inputs) check("workload.model.inputs", text);
    if (sound({"workload.model.file"}) && model.file.empty())
      tree_.complain_at({"workload.model.file"}, "expected a file's path, found empty text");
    if (!sound({"workload.model.target", "workload.loss"})) return;
    const auto target = check("workload.model.target", model.target);
    if (!target) return;
    const bool labels = target->type == TensorSpec::Type::int64;
    if (labels && (workload.loss == LossKind::mse || workload.loss == LossKind::bce)) {
      tree_.complain_at({"workload.model.target", "workload.loss"},
                        fmt::format("{} needs float32 targets; expected e.g. float32[1], found {}",
                                    to_string(workload.loss), to_string(*target)));
    }
    if (!labels && workload.loss == LossKind::cross_entropy) {
      tree_.complain_at({"workload.model.target", "workload.loss"},
                        fmt::format("cross_entropy needs classes; expected e.g. int64[]<10, found {}; for real "
                                    "numbers expected 'loss: mse', 'bce' or 'model'",
                                    to_string(*target)));
    }
  }

  void ddp() {
    if (!sound({"ddp.sync_batch_norm"}) || !scenario_.ddp.sync_batch_norm) return;
    tree_.complain_at({"ddp.sync_batch_norm"},
                      "LibTorch has no SyncBatchNorm: PyTorch's is Python code around GPU kernels and does not support "
                      "CPUs; expected "
                      "false. (With broadcast_buffers, all ranks use rank 0's statistics)");
  }

  void batch_norm() {
    if (!sound({"workload.batch_per_worker", "measure.batches"}) || !sound_model() || !resnet()) return;
    if (measured_batches(scenario_).front() > 1 || scenario_.workload.model.image_size > 32) return;
    tree_.complain_at({"workload.batch_per_worker", "workload.model.image_size"},
                      "one image of 32 pixels leaves one value per channel at the last BatchNorm, which cannot train; "
                      "expected a batch of 2 or more, or image_size 33 or more");
  }

  bool flat_model() const {
    const Model::Kind kind = scenario_.workload.model.kind;
    return kind == Model::Kind::linear || kind == Model::Kind::mlp;
  }

  // Rejects keys of another data source. They would be ignored without a message.
  void data_source() {
    if (!sound({"workload.data.source"})) return;
    const Data& data = scenario_.workload.data;
    const auto source = to_string(data.source);
    const bool files = data.source != DataSource::synthetic;
    if (files && sound({"workload.data.path"}) && data.path.empty())
      tree_.complain_at({"workload.data.path", "workload.data.source"},
                        fmt::format("'source: {}' reads files; expected 'path', the folder with the files", source));
    if (!files && !data.path.empty())
      tree_.complain_at({"workload.data.path"},
                        "synthetic data has no files; leave it out, or set 'source: mnist' or 'source: tensors'");
    if (data.source != DataSource::mnist && data.split != DataSplit::train)
      tree_.complain_at({"workload.data.split"},
                        fmt::format("applies only to 'source: mnist'; with '{}' leave it out", source));
    if (files && data.imbalance != 1.0)
      tree_.complain_at({"workload.data.imbalance"},
                        fmt::format("applies only to synthetic classes; with 'source: {}' leave it out", source));
    if (data.source == DataSource::tensors && data.image)
      tree_.complain_at({"workload.data.image"}, "files of tensors contain their shape; leave it out");
    if (data.source == DataSource::mnist && data.image && (data.image->size() != 3 || data.image->front() != 1))
      tree_.complain_at({"workload.data.image"}, "the files' images have one channel; expected [1, height, width]");
  }

  // Returns the model's inputs, or nullopt if a torchscript model's texts are wrong. Another check reports these.
  std::optional<std::vector<TensorSpec>> known_inputs() const {
    try {
      const Workload& workload = scenario_.workload;
      if (workload.model.kind == Model::Kind::torchscript) target_spec(workload.model, workload.loss);
      auto specs = input_specs(workload.model);
      if (specs.empty()) return std::nullopt;
      return specs;
    } catch (const std::invalid_argument&) {
      return std::nullopt;
    }
  }

  void mnist_fits() {
    if (!sound({"workload.data.source", "workload.data.image", "workload.loss"}) || !sound_model()) return;
    const Workload& workload = scenario_.workload;
    if (workload.data.source != DataSource::mnist) return;
    if (workload.model.widths.empty() && flat_model()) return;  // another check reports it
    const auto inputs = known_inputs();
    if (!inputs) return;
    const std::vector<std::int64_t> image = workload.data.image.value_or(std::vector<std::int64_t>{1, 28, 28});
    if (image.size() != 3 || image.front() != 1) return;  // another check reports it
    const std::int64_t pixels = image[0] * image[1] * image[2];
    const std::vector<std::int64_t> row = {pixels};
    const auto& first = inputs->front();
    if (inputs->size() != 1 || first.type != TensorSpec::Type::float32 ||
        (first.shape != image && first.shape != row)) {
      std::string takes;
      for (const TensorSpec& input : *inputs) takes += (takes.empty() ? "" : " and ") + to_string(input);
      tree_.complain_at({"workload.data.source"},
                        fmt::format("{4} samples are 1 × {2} × {3} ({0} values), but the model takes {1}; expected a "
                                    "linear or mlp model with {0} inputs, or a torchscript model of "
                                    "'float32[1,{2},{3}]' or 'float32[{0}]'",
                                    pixels, takes, image[1], image[2], workload.data.image ? "the" : "MNIST's"));
      return;
    }
    if (workload.loss != LossKind::cross_entropy)
      return tree_.complain_at({"workload.loss"}, "MNIST's targets are classes; expected cross_entropy");
    const auto target = target_spec(workload.model, workload.loss);
    if (target.type != TensorSpec::Type::int64 || !target.shape.empty() || target.below < mnist_classes)
      tree_.complain_at({"workload.data.source"},
                        fmt::format("MNIST has {0} classes, but the model's target is {1}; expected at least "
                                    "{0} outputs",
                                    mnist_classes, to_string(target)));
  }

  void classes() {
    const Data& data = scenario_.workload.data;
    if (sound({"workload.data.sampling", "workload.loss"}) && data.sampling == Sampling::balanced) {
      if (scenario_.workload.loss != LossKind::cross_entropy)
        tree_.complain_at({"workload.data.sampling"}, "balances classes; expected 'loss: cross_entropy' as well");
      if (!data.shuffle && sound({"workload.data.shuffle"}))
        tree_.complain_at({"workload.data.sampling"},
                          "draws samples at random, which contradicts 'shuffle: false'; expected one of the two");
      if (sound({"workload.data.samples"}) && data.known_samples().value_or(0) > Data::most_weighted_samples)
        tree_.complain_at({"workload.data.samples", "workload.data.sampling"},
                          fmt::format("balanced sampling draws with torch.multinomial, which takes at most {} samples",
                                      Data::most_weighted_samples));
    }
    const Model::Kind kind = scenario_.workload.model.kind;
    const bool tokens = kind == Model::Kind::gpt || kind == Model::Kind::bert;
    if (sound({"workload.data.sampling", "workload.model.kind"}) && tokens && data.sampling == Sampling::balanced)
      tree_.complain_at({"workload.data.sampling"},
                        "balances one class per sample, but here each token has a class; "
                        "expected uniform");
    if (sound({"workload.data.imbalance", "workload.model.kind"}) && data.imbalance != 1.0 &&
        (tokens || kind == Model::Kind::torchscript))
      tree_.complain_at(
          {"workload.data.imbalance"},
          fmt::format("applies only to models whose synthetic samples have classes; with 'kind: {}' leave it out",
                      to_string(kind)));
    else if (sound({"workload.data.imbalance", "workload.loss"}) && data.imbalance != 1.0 &&
             scenario_.workload.loss != LossKind::cross_entropy)
      tree_.complain_at({"workload.data.imbalance"}, "makes classes unequal; expected 'loss: cross_entropy' with it");
  }

  void images() {
    if (!sound({"workload.data.image", "workload.data.transform", "workload.data.source"}) || !sound_model()) return;
    const Data& data = scenario_.workload.data;
    const bool synthetic = data.source == DataSource::synthetic;
    if (synthetic && data.image) {
      const auto& image = *data.image;
      if (!flat_model())
        return tree_.complain_at({"workload.data.image"},
                                 "is for models that take their input flat; with another kind leave it out");
      if (image.size() != 3)
        return tree_.complain_at(
            {"workload.data.image"},
            fmt::format("expected three numbers: channels, height, width; found {}", image.size()));
      const std::int64_t values = image[0] * image[1] * image[2];
      const std::int64_t takes = scenario_.workload.model.widths.front();
      if (values != takes)
        return tree_.complain_at({"workload.data.image"},
                                 fmt::format("{} × {} × {} are {} values, the model takes {}; expected as many",
                                             image[0], image[1], image[2], values, takes));
    }
    // The shapes in a folder of tensors are checked when it is read.
    if (data.transform == Transform::augment && synthetic && flat_model() && !data.image)
      tree_.complain_at({"workload.data.transform"},
                        "augment crops and flips images; expected a residual network, 'source: mnist' or 'tensors', or "
                        "'image: [channels, height, width]' beside it");
  }

  // Each worker's share by DistributedSampler must contain a batch. If only the files determine the number of samples,
  // the worker checks it.
  void samples() {
    if (!sound({"workload.data.samples", "workload.data.source", "workload.data.drop_last", "workload.batch_per_worker",
                "measure.batches", "workers"}))
      return;
    const std::optional<std::int64_t> known = scenario_.workload.data.known_samples();
    if (!known) return;
    const std::int64_t samples = *known;
    const std::int64_t batch = measured_batches(scenario_).back();
    const std::int64_t most = scenario_.workers.back();
    if (samples < most) {
      return tree_.complain_at({"workload.data.samples", "workers"},
                               fmt::format("{} samples cannot be divided among {} workers; expected at least {}",
                                           samples, most, most * batch));
    }
    const bool drop_last = scenario_.workload.data.drop_last;
    const std::int64_t share = drop_last ? samples / most : (samples + most - 1) / most;
    if (share >= batch) return;
    tree_.complain_at({"workload.data.samples", "workload.batch_per_worker"},
                      fmt::format("with {} workers each gets {} of {} samples, less than one batch of {}; expected at "
                                  "least {} samples",
                                  most, share, samples, batch, most * batch));
  }

  // A trace counts a step's samples in 32 bits.
  void samples_per_step() {
    if (!sound({"workload.batch_per_worker", "measure.batches", "workload.accumulation", "workers"})) return;
    const std::int64_t count =
        measured_batches(scenario_).back() * scenario_.workload.accumulation * scenario_.workers.back();
    if (count <= std::numeric_limits<std::int32_t>::max()) return;
    tree_.complain_at(
        {"workload.batch_per_worker", "workload.accumulation"},
        fmt::format("a step would train on {} samples (workers × batch × accumulation); expected at most {}", count,
                    std::numeric_limits<std::int32_t>::max()));
  }

  void strategies() {
    if (!sound({"strategies", "workload.accumulation"})) return;
    if (!has(Strategy::dp) || scenario_.workload.accumulation == 1) return;
    tree_.complain_at({"workload.accumulation"},
                      fmt::format("DataParallel copies the model and the gradients for every micro-batch, so "
                                  "accumulation is measured with DDP only; found {}, expected 1 or 'strategies: [ddp]'",
                                  scenario_.workload.accumulation));
  }

  void backend() {
    if (!sound({"backend", "device"})) return;
    if (scenario_.backend == BackendChoice::nccl && scenario_.device == DeviceChoice::cpu)
      tree_.complain_at({"backend"}, "nccl moves data between GPUs only; with 'device: cpu' expected 'gloo' or 'auto'");
    if (scenario_.backend == BackendChoice::mpi && scenario_.device == DeviceChoice::cuda)
      tree_.complain_at({"backend"}, "mpi moves the CPU's memory only; with 'device: cuda' expected 'nccl' or 'auto'");
  }

  void measure() {
    const Measure& measure = scenario_.measure;
    const bool known = sound({"measure.warmup_steps", "strategies", "ddp.static_graph"}) && has(Strategy::ddp);
    if (known && scenario_.ddp.static_graph && measure.warmup_steps.value_or(4) < 4) {
      tree_.complain_at({"measure.warmup_steps"},
                        fmt::format("with static_graph DDP reduces once at the end of its first step and rebuilds its "
                                    "buckets in the third; expected 4 or more, found {}",
                                    *measure.warmup_steps));
    } else if (known && measure.warmup_steps.value_or(3) < 3) {
      tree_.complain_at({"measure.warmup_steps"},
                        fmt::format("DDP sends one bucket in its first step and rebuilds its buckets in the second; "
                                    "expected 3 or more, found {}",
                                    *measure.warmup_steps));
    }
    if (measure.gradient_noise_every > 0 && sound({"measure.gradient_noise_every", "measure.trace"}) && !measure.trace)
      tree_.complain_at({"measure.gradient_noise_every", "measure.trace"},
                        "the norms are recorded in the trace; expected 'trace: true' as well");
    if (measure.gradient_noise_every > 0 && sound({"measure.gradient_noise_every", "strategies"}) &&
        !has(Strategy::ddp))
      tree_.complain_at(
          {"measure.gradient_noise_every"},
          "DataParallel does not keep the gradients of each replica; expected 'ddp' among the strategies");
    // The distribution-free 95 % interval of a median needs 6 values: 2 · 0.5^n <= 0.05.
    if (sound({"measure.until_ci_percent", "measure.steps"}) && measure.until_ci_percent && measure.steps < 6) {
      tree_.complain_at({"measure.steps"},
                        fmt::format("a median has a 95 % interval from 6 steps on, so until_ci_percent would never be "
                                    "reached; expected 6 or more, found {}",
                                    measure.steps));
    }
  }

  // With `never`, steps have only launch times until the driver's queue is full.
  void sync() {
    const Measure& measure = scenario_.measure;
    if (!sound({"measure.sync"}) || measure.sync != DeviceSync::never) return;
    if (sound({"measure.warmup_steps"}) && !measure.warmup_steps)
      tree_.complain_at({"measure.sync"},
                        "the first steps have only the times of their launches, which would end the automatic warm-up; "
                        "expected a number of 'measure.warmup_steps', or 'sync: every_step'");
    if (sound({"measure.until_ci_percent"}) && measure.until_ci_percent)
      tree_.complain_at({"measure.sync"},
                        "the first steps have only the times of their launches, and the interval of these times would "
                        "end the measurement; expected no 'measure.until_ci_percent', or 'sync: every_step'");
    if (sound({"measure.unwrapped", "strategies"}) && measure.unwrapped && has(Strategy::ddp))
      tree_.complain_at({"measure.sync"},
                        "the few steps without the DDP wrapper would have only the times of their launches; expected "
                        "'measure.unwrapped: false', or 'sync: every_step'");
  }

  void optimizer() {
    if (!sound({"workload.optimizer.kind", "workload.optimizer.momentum"})) return;
    const Optimizer& optimizer = scenario_.workload.optimizer;
    if (optimizer.kind == OptimizerKind::sgd || optimizer.momentum == 0.0) return;
    tree_.complain_at({"workload.optimizer.momentum"},
                      fmt::format("momentum applies only to sgd; with '{}' leave it out", to_string(optimizer.kind)));
  }

  void batches() {
    const std::vector<std::int64_t>& listed = scenario_.measure.batches;
    if (listed.empty() || !sound({"measure.batches", "workload.batch_per_worker"})) return;
    if (std::ranges::find(listed, scenario_.workload.batch_per_worker) == listed.end())
      tree_.complain_at({"measure.batches", "workload.batch_per_worker"},
                        fmt::format("predictions are for workload.batch_per_worker; expected {} among the batches",
                                    scenario_.workload.batch_per_worker));
    if (sound({"learning_rate.apply"}) && scenario_.learning_rate.apply)
      tree_.complain_at({"measure.batches", "learning_rate.apply"},
                        "the schedule of a training is for one batch; expected 'learning_rate.apply: false' or no "
                        "'measure.batches'");
    if (sound({"checkpoint.folder", "checkpoint.resume"}) &&
        !(scenario_.checkpoint.folder.empty() && scenario_.checkpoint.resume.empty()))
      tree_.complain_at({"measure.batches", "checkpoint.folder"},
                        "the checkpoints of several batches would have one name; expected no checkpoint or no "
                        "'measure.batches'");
  }

  void inter_node() {
    if (!sound({"predict.inter_node"})) return;
    try {
      collective::parse_node_links(scenario_.predict.inter_node);
    } catch (const std::invalid_argument& error) {
      tree_.complain_at({"predict.inter_node"}, error.what());
    }
  }

  void checkpoint() {
    if (!sound({"checkpoint.folder", "checkpoint.every_steps"})) return;
    const Checkpoint& checkpoint = scenario_.checkpoint;
    if (checkpoint.every_steps && checkpoint.folder.empty())
      tree_.complain_at({"checkpoint.every_steps"},
                        "no folder for checkpoints is set; expected 'checkpoint.folder' as well");
    if (checkpoint.folder.empty() || checkpoint.resume.empty()) return;  // nothing is written, or nothing is read
    if (!sound({"checkpoint.resume", "strategies", "workers"})) return;
    const auto path = std::filesystem::path(checkpoint.resume).lexically_normal();
    for (const Strategy strategy : scenario_.strategies)
      for (const std::int64_t workers : scenario_.workers)
        if (path == checkpoint_path(checkpoint, strategy, workers).lexically_normal())
          return tree_.complain_at(
              {"checkpoint.resume"},
              fmt::format("{} with {} workers would overwrite that file, and later measurements would "
                          "start from the new content; expected another 'checkpoint.folder', or a copy of the file",
                          to_string(strategy), workers));
  }

  void output() {
    const Output& output = scenario_.output;
    const auto clash = [&](std::string_view first_key, const std::string& first, std::string_view second_key,
                           const std::string& second) {
      if (!sound({first_key, second_key}) || first.empty() || first != second) return;
      tree_.complain_at({second_key}, fmt::format("the same path as {}; expected another", first_key));
    };
    clash("output.database", output.database, "output.csv", output.csv);
    clash("output.database", output.database, "output.chrome", output.chrome);
    clash("output.csv", output.csv, "output.chrome", output.chrome);
    const std::string& folder = scenario_.checkpoint.folder;
    clash("output.database", output.database, "checkpoint.folder", folder);
    clash("output.chrome", output.chrome, "checkpoint.folder", folder);
  }

  const Scenario& scenario_;
  const BrokenKeys& broken_;
  Tree& tree_;
};

}  // namespace

void check_whole(const Scenario& scenario, const BrokenKeys& broken, Tree& tree) {
  Checks(scenario, broken, tree).run();
}

}  // namespace ddpprof::scenario
