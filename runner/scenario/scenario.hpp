// A scenario: training, device, measurement and predictions. Plain data, always complete: reading a file (read.hpp)
// fills in defaults and checks every value.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "simulator/learning_rate/rules.hpp"

namespace ddpprof::scenario {

enum class Strategy { ddp, dp };
enum class BackendChoice { automatic, gloo, mpi, nccl };
enum class DeviceChoice { automatic, cpu, cuda };
enum class OptimizerKind { sgd, adam, adamw };
enum class Precision { fp32, bf16 };  // bf16: parameters stay fp32, forward and loss run under autocast
enum class LossKind { cross_entropy, mse, bce, model };  // model: the module returns the loss
enum class Compression { none, fp16 };
enum class DataSource { synthetic, mnist, tensors };
enum class DataSplit { train, test };
enum class Sampling { uniform, balanced };
enum class Transform { none, augment };
enum class RawEvents { all, rank0, none };
enum class Sharing { machine, dedicated };
enum class DeviceSync { every_step, never };
enum class JobTracer { torch, own };  // own: the job writes its traces itself

struct Model {
  enum class Kind { linear, mlp, resnet18, resnet50, gpt, bert, recommender, torchscript };
  Kind kind = Kind::mlp;
  std::vector<std::int64_t> widths;                   // linear: {in, out}; mlp: {in, hidden…, out}; resnets: empty
  std::int64_t classes = 1000;                        // resnets
  std::int64_t image_size = 224;                      // resnets: input is 3 × image_size × image_size
  std::int64_t layers = 12, heads = 12, width = 768;  // gpt, bert
  std::optional<std::int64_t> vocabulary = {}, positions = {},
                              sequence = {};  // gpt, bert: the functions below return the values if unset
  std::int64_t tables = 8, rows = 100'000, embedding = 64, dense = 13, hidden = 256;  // recommender
  std::string file = {};                                                              // torchscript
  std::vector<std::string> inputs = {};  // torchscript: one text per input, in the notation of tensor_spec.hpp
  std::string target = {};               // torchscript: the same notation

  std::int64_t vocabulary_size() const;  // if unset: GPT-2's 50257, BERT's 30522
  std::int64_t position_count() const;   // if unset: GPT-2's 1024, BERT's 512
  std::int64_t tokens() const;           // per sample; if unset: position_count()

  std::string label() const;     // "linear-10-1", "mlp-784-10-10-10", "resnet18", "gpt-12x768"
  std::int64_t outputs() const;  // width of the last layer; 0 if only the model's file determines it

  bool operator==(const Model&) const = default;
};

struct Data {
  static constexpr std::int64_t synthetic_samples = 10000;
  static constexpr std::int64_t most_weighted_samples = std::int64_t{1} << 24;  // categories of torch.multinomial

  DataSource source = DataSource::synthetic;
  std::string path = {};                     // mnist, tensors: the folder with the files
  DataSplit split = DataSplit::train;        // mnist
  std::optional<std::int64_t> samples = {};  // unset: synthetic_samples, or all samples in the files
  std::uint64_t seed = 1;
  bool shuffle = true;
  bool drop_last = false;                               // as in DistributedSampler
  bool set_epoch = true;                                // false: the same order in every epoch
  Sampling sampling = Sampling::uniform;                // balanced: all classes are equally frequent
  double imbalance = 1.0;                               // synthetic: samples of the largest class over the smallest
  std::optional<std::vector<std::int64_t>> image = {};  // synthetic: {channels, height, width} of a flat input
  Transform transform = Transform::none;
  std::int64_t loader_threads = 0;  // 0: the training thread loads
  std::int64_t prefetch = 2;        // batches ready ahead for each loader thread

  std::optional<std::int64_t> known_samples() const;  // nullopt if only the files determine it

  bool operator==(const Data&) const = default;
};

struct Optimizer {
  OptimizerKind kind = OptimizerKind::sgd;
  double momentum = 0.0;                    // sgd
  std::optional<double> weight_decay = {};  // unset: 0, for adamw 0.01, as PyTorch's

  double decay() const { return weight_decay.value_or(kind == OptimizerKind::adamw ? 0.01 : 0.0); }

  bool operator==(const Optimizer&) const = default;
};

struct Workload {
  Model model;
  Data data;
  LossKind loss = LossKind::cross_entropy;
  std::int64_t batch_per_worker = 32;  // samples of one micro-batch on one worker
  std::int64_t accumulation = 1;       // micro-batches per optimizer step
  Optimizer optimizer;
  Precision precision = Precision::fp32;
  std::uint64_t seed = 1;  // of the initial weights

  bool operator==(const Workload&) const = default;
};

// The user's own training: `workload.command`. A scenario has either a command or a model.
struct Command {
  std::vector<std::string> words;  // may contain {workers}, {nodes}, {batch}, {lr} and {folder}; empty: no command
  std::int64_t nodes = 1;
  std::string learning_rate;  // value of {lr}; empty: none
  std::string window;         // steps to trace, "20-60"; empty: the tracer's default
  JobTracer tracer = JobTracer::torch;
  std::int64_t noise_steps = 0;   // steps before the window with norms of the gradient
  std::int64_t timeout_s = 1800;  // of one run, from its start to SIGTERM
  std::int64_t grace_s = 30;      // from SIGTERM to SIGKILL

  bool operator==(const Command&) const = default;
};

struct DdpOptions {
  std::optional<double> bucket_cap_mb;  // MiB; unset: first bucket 1 MiB, then 25, as PyTorch
  bool gradient_as_bucket_view = false;
  bool broadcast_buffers = true;
  Compression compression = Compression::none;  // of the gradients on their way
  bool find_unused_parameters = false;
  bool static_graph = false;
  bool sync_batch_norm = false;  // always rejected by the check

  bool operator==(const DdpOptions&) const = default;
};

// Upper limit of `warmup_steps: auto`, if step times do not settle.
inline constexpr std::int64_t most_automatic_warmup_steps = 100;

struct Measure {
  std::optional<std::int64_t> warmup_steps;      // at least 3: DDP rebuilds its buckets in the second step; unset: auto
  std::int64_t steps = 30;                       // measured steps; with `until_ci_percent`, at most this many
  std::int64_t repeats = 1;                      // of each (strategy, N), interleaved
  std::vector<std::int64_t> batches = {};        // per worker, all measured; empty: workload.batch_per_worker alone
  std::optional<double> until_ci_percent;        // stop once the median's 95 % interval is within ± this share
  bool unwrapped = true;                         // also time the step without the DDP wrapper
  double timeout_s = 120.0;                      // a rank without progress for this long is a hang
  std::optional<std::int64_t> threads_per_rank;  // intra-op threads; unset: max(1, cores / N)
  bool trace = true;
  std::int64_t gradient_noise_every = 0;     // record the gradient norms in every n-th step; 0: never
  DeviceSync sync = DeviceSync::every_step;  // whether each step waits for the GPU by reading its loss

  bool operator==(const Measure&) const = default;
};

struct Predict {
  std::vector<std::int64_t> workers = {8, 16, 32, 64};
  std::int64_t gpus_per_node = 0;    // ranks per host; 0: automatic (fit::PredictOptions)
  std::string inter_node = "usual";  // links between nodes, for collective::parse_node_links
  double confidence = 0.9;
  Sharing sharing = Sharing::machine;  // machine: all ranks share this machine's cores, as measured;
                                       // dedicated: every rank has the cores that one rank has here at N = 1

  bool operator==(const Predict&) const = default;
};

struct LearningRate {
  double base = 0.01;                           // tuned at base_workers workers, or at base_batch
  std::int64_t base_workers = 1;                // with this batch and accumulation
  std::optional<std::int64_t> base_batch = {};  // global, in samples; unset: the batch of base_workers
  learning_rate::Rule rule = learning_rate::Rule::linear;
  double warmup_epochs = 5.0;
  std::int64_t epochs = 90;
  double trust = 0.001;        // LARS' eta
  learning_rate::Decay decay;  // after the warm-up
  bool apply = false;          // train with the schedule; false: every step uses `base`

  bool operator==(const LearningRate&) const = default;
};

struct Checkpoint {
  std::string folder;                       // for checkpoints; empty: none
  std::optional<std::int64_t> every_steps;  // unset: only after the measured steps
  std::string resume;                       // file to resume from; empty: random weights

  bool operator==(const Checkpoint&) const = default;
};

struct Output {
  std::string database;  // empty: <name>.db in the current folder
  RawEvents raw = RawEvents::rank0;
  std::string csv;           // folder, empty: none
  std::string chrome;        // file, empty: none
  bool keep_traces = false;  // of a command

  bool operator==(const Output&) const = default;
};

struct Scenario {
  std::string name;
  Workload workload;
  Command command;
  std::vector<Strategy> strategies = {Strategy::ddp};
  std::vector<std::int64_t> workers = {1, 2, 4};
  BackendChoice backend = BackendChoice::automatic;
  DeviceChoice device = DeviceChoice::automatic;
  DdpOptions ddp;
  Measure measure;
  Predict predict;
  LearningRate learning_rate;
  Checkpoint checkpoint;
  Output output;

  bool has_command() const { return !command.words.empty(); }

  bool operator==(const Scenario&) const = default;
};

// Returns the batches per worker that are measured, ascending: measure.batches, or workload.batch_per_worker alone.
std::vector<std::int64_t> measured_batches(const Scenario&);
// Returns the scenario of the measurements with this batch per worker.
Scenario with_batch(Scenario, std::int64_t batch_per_worker);

// Returns the path of the checkpoint of this strategy and world size.
std::filesystem::path checkpoint_path(const Checkpoint&, Strategy, std::int64_t workers);

const char* to_string(Model::Kind);
const char* to_string(Strategy);
const char* to_string(BackendChoice);
const char* to_string(DeviceChoice);
const char* to_string(OptimizerKind);
const char* to_string(Precision);
const char* to_string(LossKind);
const char* to_string(Compression);
const char* to_string(DataSource);
const char* to_string(DataSplit);
const char* to_string(Sampling);
const char* to_string(Transform);
const char* to_string(RawEvents);
const char* to_string(Sharing);
const char* to_string(DeviceSync);
const char* to_string(JobTracer);

}  // namespace ddpprof::scenario
