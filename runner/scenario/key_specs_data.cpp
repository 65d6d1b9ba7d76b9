// The rows of workload.data.
#include <vector>

#include "runner/scenario/binding.hpp"
#include "runner/scenario/key_table.hpp"

namespace ddpprof::scenario {

void add_data_specs(std::vector<KeySpec>& specs) {
  using enum KeyType;
  constexpr auto S = &Draft::scenario;
  constexpr auto W = &Scenario::workload;
  constexpr auto D = &Workload::data;
  const auto add = [&](const KeySpec& spec) { specs.push_back(spec); };

  add(bound<S, W, D, &Data::source>(
      {.key = "workload.data.source",
       .type = choice,
       .unit = "",
       .choices = names_of<DataSource>(),
       .doc = "`synthetic`: made from the seed, learnable. `mnist`: IDX files, plain or gzip'd. `tensors`: `inputs.pt` "
              "(or `inputs0.pt`, `inputs1.pt`, …) and `targets.pt` as Python's `torch.save` writes them."}));
  add(bound<S, W, D, &Data::path>({.key = "workload.data.path",
                                   .type = text,
                                   .unit = "",
                                   .text_rule = "a folder's path",
                                   .doc =
                                       "Folder with the files of `mnist` or `tensors`, seen from the folder in which "
                                       "the command is started."}));
  add(bound<S, W, D, &Data::split>({.key = "workload.data.split",
                                    .type = choice,
                                    .unit = "",
                                    .choices = names_of<DataSplit>(),
                                    .doc = "Which files of `mnist`: `train-…` or `t10k-…`."}));
  add(bound<S, W, D, &Data::samples>(
      {.key = "workload.data.samples",
       .type = integer,
       .unit = "samples",
       .nullable = true,
       .limits = {.least = 1, .most = 1e9},
       .doc = "Size of the data set; of files the first so many. Unset: 10000 synthetic ones, or all that the files "
              "hold. It is sharded over the workers as PyTorch's DistributedSampler does, and each worker's share must "
              "fill a batch."}));
  add(bound<S, W, D, &Data::seed>({.key = "workload.data.seed",
                                   .type = integer,
                                   .unit = "",
                                   .limits = {.least = 0},
                                   .doc = "Seed of synthetic data, of the shuffle and of the transform; the same seed "
                                          "gives the same batches on every machine."}));
  add(bound<S, W, D, &Data::shuffle>({.key = "workload.data.shuffle",
                                      .type = boolean,
                                      .unit = "",
                                      .doc = "Draw a new order of the samples each epoch."}));
  add(bound<S, W, D, &Data::drop_last>(
      {.key = "workload.data.drop_last",
       .type = boolean,
       .unit = "",
       .doc = "When the workers do not divide the samples: drop the rest (true) or repeat some samples (false)."}));
  add(bound<S, W, D, &Data::set_epoch>(
      {.key = "workload.data.set_epoch",
       .type = boolean,
       .unit = "",
       .doc = "Call the sampler's `set_epoch` before each epoch. `false` is the common mistake of forgetting it: every "
              "epoch has the order of the first; a run of more than one epoch says so."}));
  add(bound<S, W, D, &Data::sampling>(
      {.key = "workload.data.sampling",
       .type = choice,
       .unit = "",
       .choices = names_of<Sampling>(),
       .doc = "`balanced`: samples are drawn with replacement, each with weight 1 / (samples of its class), so that "
              "every class is seen equally often. Needs `loss: cross_entropy`."}));
  add(bound<S, W, D, &Data::imbalance>(
      {.key = "workload.data.imbalance",
       .type = number,
       .unit = "",
       .limits = {.least = 1, .most = 1e6},
       .doc = "Of synthetic classes: how many times more probable the first is than the last; those between follow a "
              "geometric series. 1: all alike."}));
  add(bound<S, W, D, &Data::image>(
      {.key = "workload.data.image",
       .type = integer_list,
       .unit = "pixels",
       .nullable = true,
       .limits = {.least = 1, .most = 4096, .entries = 3},
       .doc = "Channels, height and width of a synthetic sample whose model takes it flat (`linear`, `mlp`), for "
              "`transform`; of `mnist`: what its files hold. Unset: no image, or what the residual network takes; of "
              "`mnist` [1, 28, 28]."}));
  add(bound<S, W, D, &Data::transform>(
      {.key = "workload.data.transform",
       .type = choice,
       .unit = "",
       .choices = names_of<Transform>(),
       .doc = "`augment`: each image is cropped at random out of its zero-padded self (4 pixels a side), flipped "
              "left to right half of the time and normalised by channel, on the CPU, while loading."}));
  add(bound<S, W, D, &Data::loader_threads>(
      {.key = "workload.data.loader_threads",
       .type = integer,
       .unit = "threads",
       .limits = {.least = 0, .most = 256},
       .doc = "Threads on each worker that make batches ahead of the training thread, which waits in `data_wait` when "
              "they are late. 0: the training thread makes them itself. The batches are the same."}));
  add(bound<S, W, D, &Data::prefetch>({.key = "workload.data.prefetch",
                                       .type = integer,
                                       .unit = "batches",
                                       .limits = {.least = 1, .most = 1024},
                                       .doc = "Batches that may be ready ahead for each loader thread, as DataLoader's "
                                              "`prefetch_factor`."}));
}

}  // namespace ddpprof::scenario
