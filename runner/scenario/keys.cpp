#include "runner/scenario/keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "runner/scenario/key_table.hpp"

namespace ddpprof::scenario {
namespace {

constexpr std::string_view introduction = R"(# Scenario files

A scenario is a YAML file. It describes the training, the device, the measurement and the predictions.
`ddpprof validate FILE` checks a scenario; `ddpprof run FILE` runs it. Keys marked *required* have no default.

```yaml
name: mnist-mlp
workload:
  model: {kind: mlp, widths: [784, 10, 10, 10]}
  data: {samples: 10000}
  loss: cross_entropy
  batch_per_worker: 32
  optimizer: {kind: sgd, momentum: 0.9}
strategies: [ddp, dp]
workers: [1, 2, 4]
measure: {steps: 50, until_ci_percent: 2}
predict: {workers: [8, 16, 64]}
learning_rate: {base: 0.01, base_workers: 1, warmup_epochs: 5, epochs: 90}
```

`--set KEY=VALUE` overrides a key for one run: `--set measure.steps=100`, `--set workers=[1,2]`. The value is YAML. To set
a group, give a map. It replaces all keys of that group in the file:
`--set 'workload.model={kind: resnet18, image_size: 64}'`.

An invalid file is rejected with exit code 2. All problems are listed with file, line, column, key, the value found and the
value expected. Unknown keys, duplicate keys, and keys of another model kind are problems too. Anchors and aliases are
supported. Merge keys (`<<`), more than one document, and files above 1 MiB are not.

A scenario with `workload.command` measures your own training instead of a model of ddpprof
([run-your-job.md](../guide/run-your-job.md)):

```yaml
name: job
workload: {command: [torchrun, --nproc-per-node, "{workers}", train.py, --batch-size, "{batch}"]}
workers: [1, 2, 4]
measure: {batches: [16, 32], repeats: 3, window: 20-60}
predict: {workers: [8, 64]}
```

The sections below follow the nesting of the file.
)";

constexpr std::string_view whole_rules = R"(
## Rules for combinations of keys

Data:
- Each worker's share of `workload.data.samples` contains at least one batch of `workload.batch_per_worker` at the largest
  of `workers`.
- `workload.data.source: mnist` and `tensors` need `path`. `split` applies only to `mnist`, `imbalance` only to
  `synthetic`, `image` to `synthetic` and `mnist`.
- MNIST needs `cross_entropy` and a model with 784 inputs (or the product of `image`) and 10 or more outputs.
- `sampling: balanced` and `imbalance` need `cross_entropy`. `balanced` excludes `shuffle: false` and takes at most
  16777216 samples.
- `transform: augment` needs images: a residual network, MNIST, tensors of channels × height × width, or `image`, whose
  product is the number of inputs of the `linear` or `mlp` model.
- workers × batch × accumulation is at most 2147483647 samples.

Model, loss and optimizer:
- `loss: cross_entropy` needs 2 or more outputs; a model with 1 output takes `mse`. `gpt` and `bert` take `cross_entropy`,
  `recommender` takes `bce` or `mse`. Only `torchscript` takes `model`, and only with `ddp`.
- `width` is a multiple of `heads`; `sequence` is at most `positions`.
- A ResNet on images of 32 pixels needs a batch of 2 or more, because BatchNorm cannot train on one value per channel.
- `momentum` applies only to `sgd`.

Strategy, backend and measurement:
- `ddp` needs `measure.warmup_steps` of 3 or more, or `auto`: DDP sends one bucket in its first step and rebuilds its
  buckets in the second. With `ddp.static_graph` it needs 4 or more.
- `workload.accumulation` above 1 is measured only with `ddp`.
- `nccl` excludes `device: cpu`; `mpi` excludes `device: cuda`.
- `measure.until_ci_percent` needs `measure.steps` of 6 or more: with fewer values a median has no distribution-free 95 %
  interval.
- `measure.gradient_noise_every` needs `measure.trace` and `ddp`.
- `measure.sync: never` needs a number of `measure.warmup_steps` and excludes `measure.until_ci_percent`. With `ddp` it
  needs `measure.unwrapped: false`.

Learning rate:
- `base_batch` and `base_workers` exclude each other. `warmup_epochs` is at most `epochs`.
- `decay_epochs` and `decay_factor` apply only to `decay: step`, `decay_power` only to `polynomial`, `trust` only to
  `lars`.
- `apply` with `rule: sqrt` and an adaptive optimizer needs global batch / base batch × (1 − β₁) below 1.
- `apply` with `lars` needs `sgd`; with `lamb` it needs `adamw`.
- `apply` with `adascale` needs `sgd`, only `ddp`, and at every N several ranks or an `accumulation` of 2 or more, unless
  its global batch is the base batch. `measure.steps` is then the upper limit of measured steps.

Paths:
- The paths in `output` differ from each other and from `checkpoint.folder`. `checkpoint.every_steps` needs
  `checkpoint.folder`.
)";

std::string table_cell(std::string_view text) {
  std::string cell;
  for (const char c : text) {
    if (c == '|') cell += '\\';
    cell += c;
  }
  return cell;
}

}  // namespace

const char* to_string(KeyType type) {
  switch (type) {
    case KeyType::text:
      return "text";
    case KeyType::integer:
      return "integer";
    case KeyType::number:
      return "number";
    case KeyType::boolean:
      return "boolean";
    case KeyType::choice:
      return "choice";
    case KeyType::integer_list:
      return "list of integers";
    case KeyType::number_list:
      return "list of numbers";
    case KeyType::text_list:
      return "list of texts";
    case KeyType::choice_list:
      return "list of choices";
  }
  return "unknown";
}

std::span<const KeyDoc> keys() {
  static const std::vector<std::string> kinds = [] {
    std::vector<std::string> texts;
    for (const KeySpec& spec : key_specs())
      texts.push_back(spec.form == Form::command ? "workload.command" : kinds_text(spec.model_kinds));
    return texts;
  }();
  static const std::vector<KeyDoc> docs = [] {
    const Draft defaults;
    std::vector<KeyDoc> list;
    for (const KeySpec& spec : key_specs()) {
      list.push_back({.key = spec.key,
                      .type = spec.type,
                      .unit = spec.unit,
                      .required = spec.required,
                      .nullable = spec.nullable,
                      .default_value = spec.required ? "" : spec.emit(spec, defaults),
                      .allowed = allowed_text(spec) + (spec.nullable && spec.unset == "null" ? "; or null" : ""),
                      .only_for = kinds[list.size()],
                      .doc = spec.doc,
                      .choices = spec.choices});
    }
    return list;
  }();
  return docs;
}

std::span<const GroupDoc> group_docs() {
  static const std::vector<GroupDoc> docs = [] {
    std::vector<GroupDoc> list;
    for (const Group& group : key_groups()) list.push_back({group.key, group.doc});
    return list;
  }();
  return docs;
}

std::string scenario_markdown() {
  std::string out(introduction);
  for (const Group& group : key_groups()) {
    out += group.key.empty() ? "\n## Top level\n\n" : fmt::format("\n## `{}`\n\n", group.key);
    out += fmt::format("{}\n\n| key | allowed | unit | default | meaning |\n|---|---|---|---|---|\n", group.doc);
    for (const KeyDoc& doc : keys()) {
      const std::size_t dot = doc.key.rfind('.');
      const std::string_view parent = dot == std::string_view::npos ? std::string_view() : doc.key.substr(0, dot);
      if (parent != group.key) continue;
      const std::string only = doc.only_for.empty()                 ? ""
                               : doc.only_for == "workload.command" ? " (with `workload.command`)"
                                                                    : fmt::format(" (kind {})", doc.only_for);
      const std::string fallback = doc.required ? "*required*" : fmt::format("`{}`", doc.default_value);
      out +=
          fmt::format("| `{}`{} | {} | {} | {} | {} |\n", doc.key.substr(dot == std::string_view::npos ? 0 : dot + 1),
                      only, table_cell(doc.allowed), doc.unit, table_cell(fallback), table_cell(doc.doc));
    }
  }
  out += whole_rules;
  out += "\nA command:\n- `workload.command` excludes all keys but";
  bool first = true;
  for (const KeySpec& spec : key_specs()) {
    if (spec.form == Form::model || spec.key == "workload.command") continue;
    out += fmt::format("{}\n  `{}`", first ? "" : ",", spec.key);
    first = false;
  }
  out += ".\n";
  return out;
}

}  // namespace ddpprof::scenario
