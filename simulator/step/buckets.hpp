// The rule by which DistributedDataParallel groups gradients into buckets (PyTorch 2.11,
// torch/nn/parallel/distributed.py and torch/csrc/distributed/c10d/reducer.cpp).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace ddpprof::step {

struct Gradient {
  std::int64_t bytes = 0;
  std::int32_t dtype = 0;  // any label: gradients of different labels never share a bucket
  std::int32_t device = 0;
};

// Indices into the gradients, one list a bucket, in the order the buckets launch.
using Buckets = std::vector<std::vector<std::int64_t>>;

struct BucketLimits {
  std::int64_t first_bytes = std::int64_t{1} << 20;  // of the first bucket to launch
  std::int64_t later_bytes = std::int64_t{25} << 20;

  // `bucket_cap_mb` as DDP takes it, in MiB: unset gives 1 MiB then 25; set (even to 25), every limit equals it.
  static BucketLimits from_cap(std::optional<double> bucket_cap_mb);
};

// DDP's grouping: gradients in `order`, one open bucket per (dtype, device); a bucket closes as soon as it is at or
// over its limit, so it may overshoot. The first bucket of each (dtype, device) takes `first_bytes`, the later ones
// `later_bytes`. Buckets come in the order they close; those left open follow, in the order they were opened.
Buckets assign_buckets(std::span<const Gradient>, std::span<const std::int64_t> order, const BucketLimits&);

// The first iteration. Without find_unused_parameters: no limit, so one bucket per (dtype, device). With it: the
// limits applied in registration order, the bucket list then reversed, so the small bucket launches last (and stays:
// such a model never rebuilds).
Buckets first_iteration_buckets(std::span<const Gradient>, const BucketLimits&, bool find_unused_parameters);

// From the second iteration on: the limits in the order in which the gradients became ready.
Buckets rebuilt_buckets(std::span<const Gradient>, std::span<const std::int64_t> ready_order, const BucketLimits&);

std::int64_t bucket_bytes(std::span<const Gradient>, std::span<const std::int64_t> bucket);

}  // namespace ddpprof::step
