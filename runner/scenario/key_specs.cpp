#include <vector>

#include "runner/scenario/binding.hpp"
#include "runner/scenario/key_table.hpp"

namespace ddpprof::scenario {
namespace {

constexpr unsigned resnets = bit(Model::Kind::resnet18) | bit(Model::Kind::resnet50);
constexpr unsigned transformers = bit(Model::Kind::gpt) | bit(Model::Kind::bert);
constexpr unsigned recommenders = bit(Model::Kind::recommender);
constexpr unsigned scripts = bit(Model::Kind::torchscript);
constexpr std::string_view tensor_rule = "like 'float32[3,224,224]' or 'int64[128]<50257'";
constexpr double widest = 1'048'576;

std::vector<KeySpec> make_specs() {
  using enum KeyType;
  constexpr auto S = &Draft::scenario;
  constexpr auto W = &Scenario::workload;
  std::vector<KeySpec> specs;
  const auto add = [&](const KeySpec& spec) { specs.push_back(spec); };

  add(bound<S, &Scenario::name>(
      {.key = "name",
       .type = text,
       .unit = "",
       .required = true,
       .text_rule = "letters, digits, '.', '_' and '-', starting with a letter or digit, at most 100",
       .form = Form::both,
       .doc = "Name of the run. Reports contain it. The database is `<name>.db` unless `output.database` is set."}));

  add(bound<S, W, &Workload::model, &Model::kind>(
      {.key = "workload.model.kind",
       .type = choice,
       .unit = "",
       .required = true,
       .choices = names_of<Model::Kind>(),
       .doc = "The model: one linear layer, a multi-layer perceptron with ReLU between its layers, a residual network, "
              "a GPT-2-style decoder, a BERT-style encoder with its masked-language-model head, a DLRM-style "
              "recommender (a few very large embedding tables), or a TorchScript module from a file."}));
  add(bound<&Draft::linear_in>({.key = "workload.model.in",
                                .type = integer,
                                .unit = "features",
                                .required = true,
                                .limits = {.least = 1, .most = widest},
                                .model_kinds = bit(Model::Kind::linear),
                                .doc = "Inputs of the linear layer."}));
  add(bound<&Draft::linear_out>({.key = "workload.model.out",
                                 .type = integer,
                                 .unit = "features",
                                 .required = true,
                                 .limits = {.least = 1, .most = widest},
                                 .model_kinds = bit(Model::Kind::linear),
                                 .doc = "Outputs of the linear layer."}));
  add(bound<S, W, &Workload::model, &Model::widths>(
      {.key = "workload.model.widths",
       .type = integer_list,
       .unit = "features",
       .required = true,
       .limits = {.least = 1, .most = widest, .entries = 2},
       .model_kinds = bit(Model::Kind::mlp),
       .doc = "Number of inputs, width of each hidden layer, number of outputs."}));
  add(bound<S, W, &Workload::model, &Model::classes>({.key = "workload.model.classes",
                                                      .type = integer,
                                                      .unit = "classes",
                                                      .limits = {.least = 1, .most = widest},
                                                      .model_kinds = resnets,
                                                      .doc = "Outputs of the last layer."}));
  add(bound<S, W, &Workload::model, &Model::image_size>(
      {.key = "workload.model.image_size",
       .type = integer,
       .unit = "pixels",
       .limits = {.least = 32, .most = 4096},
       .model_kinds = resnets,
       .doc = "Height and width of an input with 3 channels. At least 32, because the network halves it five times."}));
  add(bound<S, W, &Workload::model, &Model::layers>(
      {.key = "workload.model.layers",
       .type = integer,
       .unit = "layers",
       .limits = {.least = 1, .most = 1024},
       .model_kinds = transformers,
       .doc = "Transformer blocks. With the other defaults, the model has GPT-2's 124 million parameters or "
              "BERT-base's 110 million."}));
  add(bound<S, W, &Workload::model, &Model::heads>({.key = "workload.model.heads",
                                                    .type = integer,
                                                    .unit = "heads",
                                                    .limits = {.least = 1, .most = 1024},
                                                    .model_kinds = transformers,
                                                    .doc = "Attention heads. `width` must be a multiple of `heads`."}));
  add(bound<S, W, &Workload::model, &Model::width>({.key = "workload.model.width",
                                                    .type = integer,
                                                    .unit = "features",
                                                    .limits = {.least = 1, .most = 65536},
                                                    .model_kinds = transformers,
                                                    .doc = "Features of a token."}));
  add(bound<S, W, &Workload::model, &Model::vocabulary>(
      {.key = "workload.model.vocabulary",
       .type = integer,
       .unit = "tokens",
       .nullable = true,
       .limits = {.least = 2, .most = 16'777'216},
       .model_kinds = transformers,
       .doc = "Number of different tokens. Unset: GPT-2's 50257, BERT's 30522."}));
  add(bound<S, W, &Workload::model, &Model::positions>({.key = "workload.model.positions",
                                                        .type = integer,
                                                        .unit = "tokens",
                                                        .nullable = true,
                                                        .limits = {.least = 1, .most = widest},
                                                        .model_kinds = transformers,
                                                        .doc = "Rows of the position embedding. Unset: GPT-2's 1024, "
                                                               "BERT's 512."}));
  add(bound<S, W, &Workload::model, &Model::sequence>(
      {.key = "workload.model.sequence",
       .type = integer,
       .unit = "tokens",
       .nullable = true,
       .limits = {.least = 1, .most = widest},
       .model_kinds = transformers,
       .doc = "Tokens per sample, at most `positions`. Unset: equal to `positions`."}));
  add(bound<S, W, &Workload::model, &Model::tables>({.key = "workload.model.tables",
                                                     .type = integer,
                                                     .unit = "tables",
                                                     .limits = {.least = 1, .most = 4096},
                                                     .model_kinds = recommenders,
                                                     .doc = "Embedding tables, one per categorical feature."}));
  add(bound<S, W, &Workload::model, &Model::rows>(
      {.key = "workload.model.rows",
       .type = integer,
       .unit = "rows",
       .limits = {.least = 1, .most = 1e9},
       .model_kinds = recommenders,
       .doc = "Rows of each table. Gradients of tables are dense, as is the default of `nn.Embedding`."}));
  add(bound<S, W, &Workload::model, &Model::embedding>({.key = "workload.model.embedding",
                                                        .type = integer,
                                                        .unit = "features",
                                                        .limits = {.least = 1, .most = 65536},
                                                        .model_kinds = recommenders,
                                                        .doc = "Width of a table's row."}));
  add(bound<S, W, &Workload::model, &Model::dense>({.key = "workload.model.dense",
                                                    .type = integer,
                                                    .unit = "features",
                                                    .limits = {.least = 1, .most = widest},
                                                    .model_kinds = recommenders,
                                                    .doc = "Numeric features per sample."}));
  add(bound<S, W, &Workload::model, &Model::hidden>(
      {.key = "workload.model.hidden",
       .type = integer,
       .unit = "features",
       .limits = {.least = 1, .most = widest},
       .model_kinds = recommenders,
       .doc = "Hidden width of the two perceptrons, before and after the interaction of the features."}));
  add(bound<S, W, &Workload::model, &Model::file>({.key = "workload.model.file",
                                                   .type = text,
                                                   .unit = "",
                                                   .required = true,
                                                   .text_rule = "a file's path",
                                                   .model_kinds = scripts,
                                                   .doc = "The file that `torch.jit.script(model).save(...)` or "
                                                          "`trace` wrote (docs/guide/your-model.md), relative to the "
                                                          "folder of the scenario file."}));
  add(bound<S, W, &Workload::model, &Model::inputs>(
      {.key = "workload.model.inputs",
       .type = text_list,
       .unit = "",
       .required = true,
       .limits = {.entries = 1},
       .text_rule = tensor_rule,
       .model_kinds = scripts,
       .doc = "The arguments of `forward`, one text per argument, each without the batch dimension. `<N`: integers "
              "from 0 to N - 1."}));
  add(bound<S, W, &Workload::model, &Model::target>({.key = "workload.model.target",
                                                     .type = text,
                                                     .unit = "",
                                                     .required = true,
                                                     .text_rule = tensor_rule,
                                                     .model_kinds = scripts,
                                                     .doc = "The tensor that the loss compares with the output, in the "
                                                            "same notation. `int64[]<10` is a label of 10 classes."}));

  add_command_specs(specs);
  add_data_specs(specs);
  add(bound<S, W, &Workload::loss>(
      {.key = "workload.loss",
       .type = choice,
       .unit = "",
       .choices = names_of<LossKind>(),
       .doc = "`cross_entropy` needs 2 or more outputs. `bce`: binary cross entropy on logits, for the recommender. "
              "`model`: a TorchScript module takes the target as its last argument and returns the loss."}));
  add(bound<S, W, &Workload::batch_per_worker>(
      {.key = "workload.batch_per_worker",
       .type = integer,
       .unit = "samples",
       .limits = {.least = 1, .most = widest},
       .doc = "Samples of one micro-batch on one worker. Global batch = workers × batch × accumulation."}));
  add(bound<S, W, &Workload::optimizer, &Optimizer::kind>(
      {.key = "workload.optimizer.kind",
       .type = choice,
       .unit = "",
       .choices = names_of<OptimizerKind>(),
       .doc = "The optimizer. Its learning rate is `learning_rate.base`."}));
  add(bound<S, W, &Workload::optimizer, &Optimizer::momentum>({.key = "workload.optimizer.momentum",
                                                               .type = number,
                                                               .unit = "",
                                                               .limits = {.least = 0, .most = 1, .below_most = true},
                                                               .doc = "Momentum of `sgd`. Only for `sgd`."}));
  add(bound<S, W, &Workload::optimizer, &Optimizer::weight_decay>(
      {.key = "workload.optimizer.weight_decay",
       .type = number,
       .unit = "",
       .nullable = true,
       .limits = {.least = 0},
       .doc = "`sgd`, `adam`: L2 penalty, added to the gradient. `adamw`: decay of the weights themselves. Unset: "
              "PyTorch's defaults, 0, and 0.01 for `adamw`."}));
  add(bound<S, W, &Workload::precision>({.key = "workload.precision",
                                         .type = choice,
                                         .unit = "",
                                         .choices = names_of<Precision>(),
                                         .doc = "`fp32`: all in fp32. `bf16`: forward and loss under autocast to "
                                                "bfloat16; parameters and gradients stay fp32."}));
  add(bound<S, W, &Workload::accumulation>({.key = "workload.accumulation",
                                            .type = integer,
                                            .unit = "micro-batches",
                                            .limits = {.least = 1, .most = 65536},
                                            .doc = "Micro-batches per optimizer step. DDP reduces gradients only in "
                                                   "the last one. More than 1 needs `strategies: [ddp]`."}));
  add(bound<S, W, &Workload::seed>({.key = "workload.seed",
                                    .type = integer,
                                    .unit = "",
                                    .limits = {.least = 0},
                                    .doc = "Seed of the initial weights."}));

  add(bound<S, &Scenario::strategies>(
      {.key = "strategies",
       .type = choice_list,
       .unit = "",
       .limits = {.entries = 1},
       .choices = names_of<Strategy>(),
       .doc = "`ddp`: DistributedDataParallel, one process per worker. `dp`: DataParallel, one process with one thread "
              "per worker. Each strategy is measured at every entry of `workers`."}));
  add(bound<S, &Scenario::workers>({.key = "workers",
                                    .type = integer_list,
                                    .unit = "workers",
                                    .limits = {.least = 1, .most = 1024, .entries = 1, .ascending = true},
                                    .form = Form::both,
                                    .doc = "World sizes to measure. Include 1 to get speedup and efficiency."}));
  add(bound<S, &Scenario::backend>(
      {.key = "backend",
       .type = choice,
       .unit = "",
       .choices = names_of<BackendChoice>(),
       .doc = "The library that reduces DDP's gradients. `auto`: `nccl` on GPUs, `gloo` on CPUs. `mpi`: on CPUs, for "
              "ranks that mpirun started (docs/guide/backends.md)."}));
  add(bound<S, &Scenario::device>(
      {.key = "device",
       .type = choice,
       .unit = "",
       .choices = names_of<DeviceChoice>(),
       .doc = "The device of the workers. `auto`: GPUs if there are enough, otherwise the CPU."}));

  add(bound<S, &Scenario::ddp, &DdpOptions::bucket_cap_mb>(
      {.key = "ddp.bucket_cap_mb",
       .type = number,
       .unit = "MiB",
       .nullable = true,
       .limits = {.least = 0, .most = widest, .above_least = true},
       .doc = "Size at which a gradient bucket is closed. Unset: 1 MiB for the first bucket, 25 MiB for the others. If "
              "set, even to 25, it also applies to the first bucket, as in PyTorch."}));
  add(bound<S, &Scenario::ddp, &DdpOptions::gradient_as_bucket_view>(
      {.key = "ddp.gradient_as_bucket_view",
       .type = boolean,
       .unit = "",
       .doc = "Gradients are views into the buckets, without copies in and out."}));
  add(bound<S, &Scenario::ddp, &DdpOptions::broadcast_buffers>(
      {.key = "ddp.broadcast_buffers",
       .type = boolean,
       .unit = "",
       .doc = "Broadcast buffers (statistics of BatchNorm) from rank 0 before each forward pass."}));
  add(bound<S, &Scenario::ddp, &DdpOptions::compression>(
      {.key = "ddp.compression",
       .type = choice,
       .unit = "",
       .choices = names_of<Compression>(),
       .doc = "`fp16`: gradients are sent in half precision (PyTorch's built-in hook `FP16_COMPRESS`)."}));
  add(bound<S, &Scenario::ddp, &DdpOptions::find_unused_parameters>(
      {.key = "ddp.find_unused_parameters",
       .type = boolean,
       .unit = "",
       .doc = "In each step, search for parameters that the loss does not depend on. DDP then never rebuilds its "
              "buckets."}));
  add(bound<S, &Scenario::ddp, &DdpOptions::static_graph>(
      {.key = "ddp.static_graph",
       .type = boolean,
       .unit = "",
       .doc = "Declare that every step uses the same parameters in the same order. DDP then reduces the gradients of "
              "the first step after its backward pass, and rebuilds the buckets one step later."}));
  add(bound<S, &Scenario::ddp, &DdpOptions::sync_batch_norm>(
      {.key = "ddp.sync_batch_norm",
       .type = boolean,
       .unit = "",
       .doc =
           "Only `false`. PyTorch's SyncBatchNorm is Python code around GPU kernels; LibTorch has no such module."}));

  constexpr auto M = &Scenario::measure;
  add(bound<S, M, &Measure::warmup_steps>(
      {.key = "measure.warmup_steps",
       .type = integer,
       .unit = "steps",
       .nullable = true,
       .unset = "auto",
       .limits = {.least = 0, .most = 100'000},
       .doc = "Steps before the measured ones. DDP rebuilds its buckets in the second step, so `ddp` needs at least 3. "
              "`auto`: these steps, then blocks of 10 until the step times have settled (MSER-5 on rank 0), then 3 "
              "more; at most 100 in total."}));
  add(bound<S, M, &Measure::steps>({.key = "measure.steps",
                                    .type = integer,
                                    .unit = "steps",
                                    .limits = {.least = 1, .most = 1'000'000},
                                    .doc = "Measured steps. With `until_ci_percent`, the upper limit."}));
  add(bound<S, M, &Measure::repeats>({.key = "measure.repeats",
                                      .type = integer,
                                      .unit = "runs",
                                      .limits = {.least = 1, .most = 1000},
                                      .form = Form::both,
                                      .doc = "Runs of each strategy, world size and batch. They are interleaved, so "
                                             "that a slow period of the machine does not affect only one of them."}));
  add(bound<S, M, &Measure::batches>(
      {.key = "measure.batches",
       .type = integer_list,
       .unit = "samples",
       .limits = {.least = 1, .most = 1'000'000'000, .ascending = true},
       .form = Form::both,
       .doc = "Batches per worker that are measured at every world size, `workload.batch_per_worker` among them. They "
              "show how compute grows with the batch, which predictions for another batch and for a fixed global batch "
              "need. Predictions and learning rates are for `workload.batch_per_worker`. Empty: only that one. "
              "`ddpprof worker` measures only that one. With `workload.command`: the values of `{batch}`, all measured at "
              "every world size. Predictions are for the batch that was measured at the most world sizes, of equal ones the first. "
              "Empty: the command has no such placeholder."}));
  add(bound<S, M, &Measure::until_ci_percent>({.key = "measure.until_ci_percent",
                                               .type = number,
                                               .unit = "%",
                                               .nullable = true,
                                               .limits = {.least = 0, .most = 100, .above_least = true},
                                               .doc = "Stop when the 95 % interval of the median step time is within ± "
                                                      "this percentage of it. Unset: measure all `steps`."}));
  add(bound<S, M, &Measure::unwrapped>(
      {.key = "measure.unwrapped",
       .type = boolean,
       .unit = "",
       .doc = "Also time the same step without the DDP wrapper. The difference is the cost of communication."}));
  add(bound<S, M, &Measure::timeout_s>(
      {.key = "measure.timeout_s",
       .type = number,
       .unit = "s",
       .limits = {.least = 1, .most = 86400},
       .doc =
           "A rank without progress for this time hangs. The run then ends and reports the rank and its activity."}));
  add(bound<S, M, &Measure::threads_per_rank>(
      {.key = "measure.threads_per_rank",
       .type = integer,
       .unit = "threads",
       .nullable = true,
       .limits = {.least = 1, .most = 1024},
       .doc = "Threads that one operator may use on a rank. Unset: the machine's cores divided by the workers, at "
              "least 1. DataParallel on GPUs uses at least one thread per replica."}));
  add(bound<S, M, &Measure::trace>({.key = "measure.trace",
                                    .type = boolean,
                                    .unit = "",
                                    .doc = "Record NVTX ranges and, on GPUs, CUPTI activity."}));
  add(bound<S, M, &Measure::gradient_noise_every>(
      {.key = "measure.gradient_noise_every",
       .type = integer,
       .unit = "steps",
       .limits = {.least = 0, .most = 1'000'000},
       .doc = "Record the squared norm of DDP's gradients before and after the all-reduce in every n-th step. `ddpprof "
              "lr` computes the gradient noise scale from them. With one rank it uses the first micro-batch, and needs "
              "`workload.accumulation` of 2 or more. 0: never."}));
  add(bound<S, M, &Measure::sync>(
      {.key = "measure.sync",
       .type = choice,
       .unit = "",
       .choices = names_of<DeviceSync>(),
       .doc =
           "`every_step`: each step ends by reading its loss, which waits for the GPU. `never`: the loop does not "
           "wait, and a step's time is the host's time to launch it. Losses are then read rarely, and are not in the "
           "database (docs/design/where-a-step-ends-on-a-gpu.md)."}));

  add_command_measure_specs(specs);

  constexpr auto P = &Scenario::predict;
  add(bound<S, P, &Predict::workers>({.key = "predict.workers",
                                      .type = integer_list,
                                      .unit = "workers",
                                      .limits = {.least = 1, .most = widest, .entries = 1, .ascending = true},
                                      .form = Form::both,
                                      .doc = "World sizes to predict."}));
  add(bound<S, P, &Predict::gpus_per_node>(
      {.key = "predict.gpus_per_node",
       .type = integer,
       .unit = "workers",
       .limits = {.least = 0, .most = 1024},
       .form = Form::both,
       .doc = "Workers per host. 0: all on one host on a CPU; of GPUs as many as were "
              "measured on a host, at least 8."}));
  add(bound<S, P, &Predict::inter_node>(
      {.key = "predict.inter_node",
       .type = text,
       .unit = "",
       .text_rule = "links of a node to other nodes, for example 100Gbit/s, hdr or 8xndr",
       .form = Form::both,
       .doc = "Links of one node to other nodes, used if no measurement shows them: an Ethernet rate (`25Gbit/s`), "
              "InfiniBand (`fdr`, `edr`, `hdr`, `ndr`, `xdr`), or several of one kind (`8xndr`). `usual`: from 25 "
              "Gbit/s Ethernet to 8 × 400 Gbit/s InfiniBand, all of it in the interval."}));
  add(bound<S, P, &Predict::confidence>(
      {.key = "predict.confidence",
       .type = number,
       .unit = "",
       .limits = {.least = 0, .most = 1, .above_least = true, .below_most = true},
       .form = Form::both,
       .doc = "Probability with which a prediction's interval should contain the true value."}));
  add(bound<S, P, &Predict::sharing>(
      {.key = "predict.sharing",
       .type = choice,
       .unit = "",
       .choices = names_of<Sharing>(),
       .form = Form::both,
       .doc = "`machine`: all workers share this machine's cores, as measured. `dedicated`: each worker has the cores "
              "that one worker has here (for `ddp`; replicas of DataParallel share one host in both cases)."}));

  add_learning_rate_specs(specs);

  constexpr auto C = &Scenario::checkpoint;
  add(bound<S, C, &Checkpoint::folder>(
      {.key = "checkpoint.folder",
       .type = text,
       .unit = "",
       .text_rule = "a folder's path",
       .doc = "Rank 0 writes `<strategy>-<workers>.pt` in this folder: model, optimizer and position in the data, "
              "readable with Python's `torch.load`. It is written between two steps and is not part of any step's "
              "time. Empty: no checkpoint."}));
  add(bound<S, C, &Checkpoint::every_steps>(
      {.key = "checkpoint.every_steps",
       .type = integer,
       .unit = "steps",
       .nullable = true,
       .limits = {.least = 1, .most = 1e9},
       .doc = "Also write the checkpoint when the number of training steps is a multiple of this, and replace the "
              "previous one. Unset: only after the last measured step."}));
  add(bound<S, C, &Checkpoint::resume>({.key = "checkpoint.resume",
                                        .type = text,
                                        .unit = "",
                                        .text_rule = "a file's path",
                                        .doc = "Checkpoint from which every strategy and world size resumes, with any "
                                               "number of workers. Empty: start from random weights."}));

  constexpr auto O = &Scenario::output;
  add(bound<S, O, &Output::database>({.key = "output.database",
                                      .type = text,
                                      .unit = "",
                                      .text_rule = "a file's path",
                                      .form = Form::both,
                                      .doc = "The trace database. Empty: `<name>.db` in the current folder."}));
  add(bound<S, O, &Output::raw>(
      {.key = "output.raw",
       .type = choice,
       .unit = "",
       .choices = names_of<RawEvents>(),
       .form = Form::both,
       .doc = "The ranks whose raw events are stored in the database. Summaries of all ranks are always stored. With "
              "`workload.command`, `rank0` stores those of all ranks, too."}));
  add(bound<S, O, &Output::csv>({.key = "output.csv",
                                 .type = text,
                                 .unit = "",
                                 .text_rule = "a folder's path",
                                 .form = Form::both,
                                 .doc = "Folder for CSV files, one per table. Empty: none."}));
  add(bound<S, O, &Output::chrome>({.key = "output.chrome",
                                    .type = text,
                                    .unit = "",
                                    .text_rule = "a file's path",
                                    .form = Form::both,
                                    .doc = "Trace file for Perfetto or chrome://tracing. Empty: none."}));
  add(bound<S, O, &Output::keep_traces>({.key = "output.keep_traces",
                                         .type = boolean,
                                         .unit = "",
                                         .form = Form::command,
                                         .doc = "Keep the traces of each run in `<database>.d`. Otherwise they are "
                                                "removed after they are stored in the database."}));
  return specs;
}

}  // namespace

std::span<const KeySpec> key_specs() {
  static const std::vector<KeySpec> specs = make_specs();
  return specs;
}

}  // namespace ddpprof::scenario
