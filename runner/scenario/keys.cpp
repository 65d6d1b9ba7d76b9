#include "runner/scenario/keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "runner/scenario/key_table.hpp"

namespace ddpprof::scenario {
namespace {

constexpr std::string_view introduction = R"(# Scenario files

A scenario is a YAML file that says what to train, where, how to measure it and what to predict from it.
`ddpprof validate FILE` checks one; `ddpprof run FILE` runs it. Every key but the ones marked *required* has a default.

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

`--set KEY=VALUE` overrides a key for one run: `--set measure.steps=100`, `--set workers=[1,2]`. The value is YAML, so a
group is set with a map, which replaces what the file says below it:
`--set 'workload.model={kind: resnet18, image_size: 64}'`.

A wrong file is refused with exit code 2, and every problem in it is listed: file, line and column, the key, what was
found and what was expected. Unknown keys, keys that are there twice and keys that do not fit the model's kind are
problems too. Anchors and aliases work; merge keys (`<<`), more than one document, and files over 1 MiB do not.

The sections below follow the nesting of the file.
)";

constexpr std::string_view whole_rules = R"(
## What must fit together

- Each worker's share of `workload.data.samples` fills a batch of `workload.batch_per_worker` at the largest of
  `workers`.
- `workload.data.source: mnist` or `tensors` needs `path`; `split` belongs to `mnist`, `imbalance` to `synthetic`, `image`
  to either. MNIST needs a `linear` or `mlp` model of 784 inputs (or what `image` makes) and 10 outputs or more, and
  `cross_entropy`.
- `sampling: balanced` and `imbalance` need `cross_entropy`; `balanced` does not go with `shuffle: false` and takes at
  most 16777216 samples.
- `transform: augment` needs images: a residual network, MNIST, tensors of channels × height × width, or `image`, whose
  product is the number of inputs of the `linear` or `mlp` model.
- `loss: cross_entropy` needs 2 outputs or more; a model with 1 output takes `mse`. `gpt` and `bert` take
  `cross_entropy`, `recommender` takes `bce` or `mse`, and only `torchscript` takes `model`, with `ddp` alone.
- `heads` divide `width`; `sequence` is at most `positions`.
- A ResNet on images of 32 pixels needs a batch of 2 or more: BatchNorm cannot train on one value per channel.
- `strategies` with `ddp` needs `measure.warmup_steps` of 3 or more, or `auto`: DDP sends one bucket in its first step and
  rebuilds its buckets in the second; with `ddp.static_graph` 4 or more.
- `measure.until_ci_percent` needs `measure.steps` of 6 or more: below that a median has no distribution-free 95 %
  interval.
- `workload.accumulation` over 1 is measured with `ddp` only.
- `momentum` belongs to `sgd`; `nccl` does not go with `device: cpu`, nor `mpi` with `device: cuda`.
- `learning_rate.warmup_epochs` is at most `learning_rate.epochs`; `decay_epochs` and `decay_factor` belong to
  `decay: step`, `decay_power` to `polynomial`; `learning_rate.apply` with `rule: sqrt` and an adaptive optimizer ends
  where global batch / base batch × (1 − β₁) reaches 1; `base_batch` and `base_workers` are two ways to say one thing.
  With `learning_rate.apply` the rule `lars` needs `sgd`, `lamb` needs `adamw`; `trust` belongs to `lars`.
  `adascale` needs `sgd`, `ddp` alone, and at every N several ranks or an `accumulation` of 2 or more, unless its global
  batch is the base batch; there `measure.steps` is the most that are measured.
- `measure.gradient_noise_every` needs `measure.trace` and `strategies` with `ddp`.
- The paths in `output` differ from each other and
  from `checkpoint.folder`, which `checkpoint.every_steps` needs.
- workers × batch × accumulation is at most 2147483647 samples.
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
    for (const KeySpec& spec : key_specs()) texts.push_back(kinds_text(spec.model_kinds));
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
      const std::string only = doc.only_for.empty() ? "" : fmt::format(" (kind {})", doc.only_for);
      const std::string fallback = doc.required ? "*required*" : fmt::format("`{}`", doc.default_value);
      out +=
          fmt::format("| `{}`{} | {} | {} | {} | {} |\n", doc.key.substr(dot == std::string_view::npos ? 0 : dot + 1),
                      only, table_cell(doc.allowed), doc.unit, table_cell(fallback), table_cell(doc.doc));
    }
  }
  out += whole_rules;
  return out;
}

}  // namespace ddpprof::scenario
