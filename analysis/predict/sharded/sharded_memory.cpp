#include "analysis/predict/sharded/sharded_memory.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "analysis/predict/sharded/sharded_model.hpp"

namespace ddpprof::fit {
namespace {

// Values per parameter that the optimizer keeps. SGD's momentum and others are not known from the name.
std::optional<double> states_of(const std::string& optimizer) {
  for (const char* name : {"Adam", "AdamW", "NAdam", "RAdam"})
    if (optimizer == name) return 2.0;
  if (optimizer == "Adagrad") return 1.0;
  return std::nullopt;
}

double wider_element_bytes(const UnitTimes& unit) {
  return static_cast<double>(
      std::max(unit.gathered_element_bytes.value_or(4), unit.scattered_element_bytes.value_or(4)));
}

// Without padding if the number of parameters was recorded.
double elements_of(const UnitTimes& unit) {
  if (unit.parameters) return static_cast<double>(*unit.parameters);
  return static_cast<double>(unit.gathered_bytes) / static_cast<double>(unit.gathered_element_bytes.value_or(4));
}

}  // namespace

std::string ShardedMemory::largest() const {
  const std::pair<double, const char*> parts[] = {{parameters_bytes, "parameters"},
                                                  {gradients_bytes, "gradients"},
                                                  {optimizer_bytes.value_or(0.0), "optimizer"},
                                                  {gathered_bytes, "gathered"},
                                                  {buffers_bytes, "buffers"}};
  return std::ranges::max_element(parts, {}, [](const auto& part) { return part.first; })->second;
}

ShardedMemory sharded_memory(const ShardedJob& job, const ShardedRanks& ranks, std::int64_t workers,
                             const WhatIf& change) {
  const bool ddp = change.strategy == "ddp";
  const auto shards = static_cast<double>(shards_at(ranks, workers, change));
  const bool reduced_once = job.accumulation > 1 && std::ranges::none_of(ranks.units, [](const UnitTimes& unit) {
                              return unit.scatters.calls > 1.0;
                            });
  ShardedMemory memory;
  memory.strategy = "fsdp";
  memory.workers = workers;
  memory.changed = change.any();
  double kept_bytes = 0.0, previous_bytes = 0.0, largest_pair_bytes = 0.0;
  for (const UnitTimes& unit : ranks.units) {
    const double stored_bytes = elements_of(unit) * wider_element_bytes(unit) * change.model_bytes;
    memory.parameters_bytes += stored_bytes / shards;
    memory.gradients_bytes += reduced_once ? stored_bytes : stored_bytes / shards;
    const double scattered_bytes = static_cast<double>(unit.scattered_bytes) * change.model_bytes;
    memory.buffers_bytes =
        ddp ? memory.buffers_bytes + scattered_bytes : std::max(memory.buffers_bytes, scattered_bytes);
    const double gathered_bytes = static_cast<double>(unit.gathered_bytes) * change.model_bytes;
    const bool again =
        change.reshard_after_forward && !unit.root ? *change.reshard_after_forward : unit.gathers_again.value_or(false);
    if (!again) {
      kept_bytes += gathered_bytes;
      continue;
    }
    largest_pair_bytes = std::max(largest_pair_bytes, previous_bytes + gathered_bytes);
    previous_bytes = gathered_bytes;
  }
  if (!ddp) memory.gathered_bytes = kept_bytes + largest_pair_bytes;
  if (const std::optional<double> states = states_of(job.optimizer))
    memory.optimizer_bytes = *states * memory.parameters_bytes;
  return memory;
}

}  // namespace ddpprof::fit
