// "What if": changes of the measured job, and the terms of a step that a change can free.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ddpprof::fit {

// The terms that limit a step. `sharing`: compute made longer by ranks that share a host's cores. `host`: the device
// waits for the host's launches. `copies`: copies of DataParallel.
enum class Term { compute, sharing, host, bandwidth, latency, skew, input, copies };
std::string_view to_string(Term);

// Usual changes of a job that is bound by Term::host.
inline constexpr std::string_view host_remedies = "CUDA graphs, torch.compile, or a larger batch per worker";

// The change of a link's latency or bandwidth: a factor on the fitted value, or a value that replaces it.
struct LinkChange {
  double factor = 1.0;
  std::optional<double> value;  // bytes/s, or s
  double of(double fitted) const { return value.value_or(factor * fitted); }
  bool changes() const { return value || factor != 1.0; }
  // Returns the changed value over the fitted one.
  double ratio(double fitted) const { return value ? *value / fitted : factor; }
};

struct WhatIf {
  std::vector<std::string> said;  // KEY=VALUE as given, for messages
  std::optional<double> bucket_cap_mb;
  double gradient_bytes = 1.0;  // bytes sent over those of today: 0.5 for fp32 gradients with an fp16 or bf16 hook
  double model_bytes = 1.0;     // of parameters and gradients, sent and stored: 0.5 for a model in fp16 or bf16
  std::optional<std::int64_t> accumulation;
  std::optional<std::int64_t> batch_per_worker;  // of one micro-batch
  double compute_speed = 1.0;
  double host_speed = 1.0;  // of the host's launches
  LinkChange bandwidth, latency;
  bool overlap = true;
  std::string strategy;  // "", ddp, zero1, zero2, zero3, ps, async-ps
  std::int64_t servers = 1;
  // Only for a sharded training (FSDP):
  std::optional<bool> reshard_after_forward, prefetch;
  std::int64_t replicas = 1;  // of the shards (HSDP)
  std::vector<Term> free;     // terms that take no time

  bool any() const {
    return !said.empty() || bucket_cap_mb || gradient_bytes != 1.0 || model_bytes != 1.0 || accumulation ||
           batch_per_worker || compute_speed != 1.0 || host_speed != 1.0 || changes_links() || !overlap ||
           changes_sharding() || !free.empty();
  }
  bool changes_sharding() const { return reshard_after_forward || prefetch || replicas != 1; }
  bool frees(Term term) const { return std::find(free.begin(), free.end(), term) != free.end(); }
  // Returns the time of the host's launches over the measured one.
  double host_factor() const { return frees(Term::host) ? 0.0 : 1.0 / host_speed; }
  bool changes_links() const { return bandwidth.changes() || latency.changes() || !strategy.empty(); }
};

// Reads KEY=VALUE texts, each key at most once. Keys: bucket_cap_mb=50, compression=fp16|bf16, precision=fp16|bf16,
// accumulation=4, batch_per_worker=128, compute=2x, host=2x, bandwidth=2x|25Gbit/s|3GB/s, latency=0.5x|20us,
// overlap=off, strategy=…, servers=4, reshard_after_forward=on|off, prefetch=on|off, replicate=2. Throws std::invalid_argument with the expected value.
WhatIf parse_what_if(std::span<const std::string> items);

inline constexpr std::string_view what_if_keys =
    "bucket_cap_mb, compression, precision, accumulation, batch_per_worker, compute, host, bandwidth, latency, "
    "overlap, strategy, servers, reshard_after_forward, prefetch, replicate";

}  // namespace ddpprof::fit
