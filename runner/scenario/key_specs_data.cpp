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

  add(bound<S, W, D, &Data::source>({.key = "workload.data.source",
                                     .type = choice,
                                     .unit = "",
                                     .choices = names_of<DataSource>(),
                                     .doc = "`synthetic`: generated from the seed; it can be learned. `mnist`: IDX "
                                            "files, plain or gzip-compressed. `tensors`: `inputs.pt` (or `inputs0.pt`, "
                                            "`inputs1.pt`, …) and `targets.pt`, written by Python's `torch.save`."}));
  add(bound<S, W, D, &Data::path>(
      {.key = "workload.data.path",
       .type = text,
       .unit = "",
       .text_rule = "a folder's path",
       .doc = "Folder with the files of `mnist` or `tensors`, relative to the folder of the scenario file."}));
  add(bound<S, W, D, &Data::split>({.key = "workload.data.split",
                                    .type = choice,
                                    .unit = "",
                                    .choices = names_of<DataSplit>(),
                                    .doc = "Files of `mnist`: `train-…` or `t10k-…`."}));
  add(bound<S, W, D, &Data::samples>(
      {.key = "workload.data.samples",
       .type = integer,
       .unit = "samples",
       .nullable = true,
       .limits = {.least = 1, .most = 1e9},
       .doc = "Size of the data set; of files, the first n samples. Unset: 10000 synthetic samples, or all samples in "
              "the files. They are distributed over the workers as by PyTorch's DistributedSampler. Each worker's "
              "share must contain at least one batch."}));
  add(bound<S, W, D, &Data::seed>({.key = "workload.data.seed",
                                   .type = integer,
                                   .unit = "",
                                   .limits = {.least = 0},
                                   .doc = "Seed of synthetic data, of the shuffle and of the transform. The same seed "
                                          "gives the same batches on every machine."}));
  add(bound<S, W, D, &Data::shuffle>({.key = "workload.data.shuffle",
                                      .type = boolean,
                                      .unit = "",
                                      .doc = "Use a new random order of the samples in each epoch."}));
  add(bound<S, W, D, &Data::drop_last>({.key = "workload.data.drop_last",
                                        .type = boolean,
                                        .unit = "",
                                        .doc = "If the number of samples is not a multiple of the workers: drop the "
                                               "rest (true) or repeat some samples (false)."}));
  add(bound<S, W, D, &Data::set_epoch>(
      {.key = "workload.data.set_epoch",
       .type = boolean,
       .unit = "",
       .doc = "Call the sampler's `set_epoch` before each epoch. `false` reproduces a common mistake: every epoch has "
              "the order of the first. A run of more than one epoch then has a warning."}));
  add(bound<S, W, D, &Data::sampling>(
      {.key = "workload.data.sampling",
       .type = choice,
       .unit = "",
       .choices = names_of<Sampling>(),
       .doc = "`balanced`: samples are drawn with replacement, each with weight 1 / (samples of its class), so that "
              "all classes are equally frequent. Needs `loss: cross_entropy`."}));
  add(bound<S, W, D, &Data::imbalance>(
      {.key = "workload.data.imbalance",
       .type = number,
       .unit = "",
       .limits = {.least = 1, .most = 1e6},
       .doc = "For synthetic classes: ratio of the probabilities of the first and the last class. The classes between "
              "form a geometric series. 1: all classes are equally probable."}));
  add(bound<S, W, D, &Data::image>(
      {.key = "workload.data.image",
       .type = integer_list,
       .unit = "pixels",
       .nullable = true,
       .limits = {.least = 1, .most = 4096, .entries = 3},
       .doc = "Channels, height and width. For synthetic samples whose model takes them flat (`linear`, `mlp`), needed "
              "by `transform`. For `mnist`: the size of the images in the files. Unset: no image, or the input of the "
              "residual network; for `mnist` [1, 28, 28]."}));
  add(bound<S, W, D, &Data::transform>(
      {.key = "workload.data.transform",
       .type = choice,
       .unit = "",
       .choices = names_of<Transform>(),
       .doc = "`augment`: while a batch is loaded on the CPU, each image is padded with 4 zeros on each side, cropped "
              "at random, flipped horizontally with probability 1/2, and normalised per channel."}));
  add(bound<S, W, D, &Data::loader_threads>(
      {.key = "workload.data.loader_threads",
       .type = integer,
       .unit = "threads",
       .limits = {.least = 0, .most = 256},
       .doc = "Threads per worker that prepare batches in advance. If they are late, the training thread waits "
              "(`data_wait`). 0: the training thread prepares the batches. The batches are the same in both cases."}));
  add(bound<S, W, D, &Data::prefetch>(
      {.key = "workload.data.prefetch",
       .type = integer,
       .unit = "batches",
       .limits = {.least = 1, .most = 1024},
       .doc = "Prepared batches per loader thread, at most, as `prefetch_factor` of DataLoader."}));
}

}  // namespace ddpprof::scenario
