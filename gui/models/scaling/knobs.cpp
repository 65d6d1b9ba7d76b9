#include "gui/models/scaling/knobs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "analysis/predict/predictor.hpp"
#include "analysis/predict/sharded/sharded_model.hpp"
#include "gui/models/shell_words.hpp"

namespace ddpprof::gui::whatif {
namespace {

constexpr double default_bucket_cap_mb = 25.0;  // DDP's default, used if the file has no value
constexpr std::int64_t first_look = 64;         // the least N shown at first, if the file has no predictions

const std::map<std::int64_t, fit::StepProfile>& profiles(const fit::Models& models, const std::string& strategy) {
  return strategy == "dp" ? models.measured.dp : models.measured.ddp;
}

// The largest N of the file's predictions of the strategy, which is that of the table what_helps.
std::int64_t first_workers(const OpenedFile& file, const std::string& strategy) {
  const auto predicted = file.furthest_predicted.find(strategy);
  std::int64_t largest = first_look;
  for (const std::int64_t workers : file.predict.workers) largest = std::max(largest, workers);
  return std::min(predicted != file.furthest_predicted.end() ? predicted->second : largest, most_workers);
}

bool is_change_of_strategy(const Knobs& knobs) { return knobs.strategy != knobs.base_strategy(); }

// Copies the one field that belongs to the knob from `from` to `to`.
void copy(Knobs& to, const Knobs& from, KnobId id) {
  switch (id) {
    case KnobId::workers:
      to.workers = from.workers;
      break;
    case KnobId::strategy:
      to.strategy = from.strategy;
      break;
    case KnobId::gpus_per_node:
      to.gpus_per_node = from.gpus_per_node;
      break;
    case KnobId::inter_node:
      to.inter_node = from.inter_node;
      break;
    case KnobId::dedicated:
      to.dedicated = from.dedicated;
      break;
    case KnobId::bandwidth:
      to.bandwidth = from.bandwidth;
      break;
    case KnobId::latency:
      to.latency = from.latency;
      break;
    case KnobId::bucket_cap:
      to.bucket_cap_mb = from.bucket_cap_mb;
      break;
    case KnobId::sixteen_bit:
      to.sixteen_bit = from.sixteen_bit;
      break;
    case KnobId::overlap:
      to.overlap = from.overlap;
      break;
    case KnobId::batch:
      to.batch = from.batch;
      break;
    case KnobId::accumulation:
      to.accumulation = from.accumulation;
      break;
    case KnobId::compute:
      to.compute = from.compute;
      break;
    case KnobId::host:
      to.host = from.host;
      break;
    case KnobId::servers:
      to.servers = from.servers;
      break;
  }
}

}  // namespace

std::string first_strategy(const OpenedFile& file) {
  const bool dp_alone = file.models && file.models->measured.ddp.empty() && !file.models->measured.dp.empty();
  return dp_alone ? "dp" : "ddp";
}

Knobs measured_knobs(const OpenedFile& file, const std::string& strategy) {
  Knobs knobs;
  knobs.strategy = strategy == "dp" ? "dp" : "ddp";
  knobs.gpus_per_node = file.predict.gpus_per_node;
  knobs.inter_node = file.predict.inter_node.text;
  knobs.dedicated = file.predict.dedicated;
  knobs.workers = first_workers(file, knobs.strategy);
  knobs.bucket_cap_mb = default_bucket_cap_mb;
  if (!file.models) return knobs;
  const auto& all = profiles(*file.models, knobs.strategy);
  if (all.empty()) return knobs;
  const fit::StepProfile& last = all.rbegin()->second;
  knobs.bucket_cap_mb = last.bucket_cap_mb.value_or(default_bucket_cap_mb);
  knobs.batch = std::max<std::int64_t>(0, last.batch_per_worker);
  knobs.accumulation = std::max<std::int64_t>(1, last.accumulation);
  knobs.has_host = last.waits_for_host();
  knobs.has_cores = last.machine.device != "cuda";
  return knobs;
}

bool differs(const Knobs& knobs, const Knobs& measured, KnobId id) {
  Knobs same = knobs;
  copy(same, measured, id);
  return !(same == knobs);
}

void reset(Knobs& knobs, const Knobs& measured, KnobId id) { copy(knobs, measured, id); }

std::vector<std::string> what_if_items(const Knobs& knobs, const Knobs& measured) {
  std::vector<std::string> items;
  const auto changed = [&](KnobId id) { return differs(knobs, measured, id); };
  // fmt prints the shortest text of a double that reads back as the same double.
  if (changed(KnobId::bandwidth)) items.push_back(fmt::format("bandwidth={}x", knobs.bandwidth));
  if (changed(KnobId::latency)) items.push_back(fmt::format("latency={}x", knobs.latency));
  if (changed(KnobId::bucket_cap)) items.push_back(fmt::format("bucket_cap_mb={}", knobs.bucket_cap_mb));
  if (!knobs.sixteen_bit.empty()) items.push_back(knobs.sixteen_bit);
  if (!knobs.overlap) items.emplace_back("overlap=off");
  if (changed(KnobId::batch)) items.push_back(fmt::format("batch_per_worker={}", knobs.batch));
  if (changed(KnobId::accumulation)) items.push_back(fmt::format("accumulation={}", knobs.accumulation));
  if (changed(KnobId::compute)) items.push_back(fmt::format("compute={}x", knobs.compute));
  if (changed(KnobId::host)) items.push_back(fmt::format("host={}x", knobs.host));
  if (is_change_of_strategy(knobs)) {
    items.push_back("strategy=" + knobs.strategy);
    if (knobs.strategy.ends_with("ps") && knobs.servers > 1) items.push_back(fmt::format("servers={}", knobs.servers));
  }
  return items;
}

fit::WhatIf what_if(const Knobs& knobs, const Knobs& measured) {
  return fit::parse_what_if(what_if_items(knobs, measured));
}

fit::WhatIf for_one_worker(const fit::WhatIf& change) {
  fit::WhatIf alone = change;
  alone.bandwidth = alone.latency = {};
  alone.strategy.clear();
  alone.servers = 1;
  std::erase_if(alone.said, [](const std::string& item) {
    return item.starts_with("bandwidth=") || item.starts_with("latency=") || item.starts_with("strategy=") ||
           item.starts_with("servers=");
  });
  return alone;
}

fit::PredictOptions predict_options(const OpenedFile& file, const Knobs& knobs) {
  fit::PredictOptions options = file.predict;
  options.gpus_per_node = knobs.gpus_per_node;
  options.inter_node = collective::parse_node_links(knobs.inter_node);
  options.dedicated = knobs.dedicated;
  return options;
}

std::optional<std::int64_t> automatic_gpus_per_node(const OpenedFile& file) {
  if (file.sharded) {
    fit::PredictOptions options = file.predict;
    options.gpus_per_node = 0;
    const std::int64_t per_host = fit::most_ranks_per_host(*file.sharded, options);
    return per_host < most_workers ? std::optional(per_host) : std::nullopt;
  }
  if (!file.models || file.models->measured.ddp.empty()) return std::nullopt;
  fit::PredictOptions options = file.predict;
  options.gpus_per_node = 0;
  options.dedicated = false;
  const fit::MeasuredJob job(file.models, "ddp", options);
  const std::int64_t per_host = job.machine_for(most_workers).ranks_per_host();
  return per_host < most_workers ? std::optional(per_host) : std::nullopt;
}

std::string gpus_per_node_text(std::int64_t gpus_per_node) {
  return gpus_per_node > 0 ? fmt::format("{} GPUs per node", gpus_per_node) : "GPUs per node: automatic";
}

std::optional<PredictionChoice> prediction_choice(const OpenedFile& file, const Knobs& knobs) {
  const Knobs own = measured_knobs(file, knobs.base_strategy());
  std::vector<std::string> all;
  if (knobs.workers != own.workers) all.push_back(fmt::format("N = {}", knobs.workers));
  if (knobs.gpus_per_node != own.gpus_per_node) all.push_back(gpus_per_node_text(knobs.gpus_per_node));
  if (knobs.inter_node != own.inter_node)
    all.push_back(fmt::format("link between nodes: {}", knobs.inter_node == collective::NodeLinks::usual
                                                            ? std::string("usual range")
                                                            : knobs.inter_node));
  if (knobs.dedicated != own.dedicated)
    all.emplace_back(knobs.dedicated ? "cores dedicated to each rank" : "shared cores");
  for (const std::filesystem::path& log : file.logs) all.push_back("links of " + log.filename().string());
  if (all.empty()) return std::nullopt;
  return PredictionChoice{knobs.workers, predict_options(file, knobs), fmt::format("{}", fmt::join(all, ", "))};
}

std::string command_line(const OpenedFile& file, const Knobs& knobs, const Knobs& measured,
                         const std::vector<std::int64_t>& workers) {
  std::string text =
      fmt::format("ddpprof predict {} --workers {}", shell_word(file.path.string()), fmt::join(workers, ","));
  if (knobs.gpus_per_node != file.predict.gpus_per_node)
    text += fmt::format(" --gpus-per-node {}", knobs.gpus_per_node);
  if (knobs.inter_node != file.predict.inter_node.text) text += " --inter-node " + knobs.inter_node;
  if (knobs.dedicated != file.predict.dedicated)
    text += knobs.dedicated ? " --sharing dedicated" : " --sharing machine";
  for (const std::filesystem::path& log : file.logs) text += " --all-reduce " + shell_word(log.string());
  for (const std::string& item : what_if_items(knobs, measured)) text += " --what-if " + item;
  return text;
}

}  // namespace ddpprof::gui::whatif
