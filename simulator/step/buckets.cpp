#include "simulator/step/buckets.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>

namespace ddpprof::step {
namespace {

struct OpenBucket {
  std::int32_t dtype;
  std::int32_t device;
  std::int64_t bytes = 0;
  std::int64_t limit_bytes;
  std::vector<std::int64_t> members;
};

std::vector<std::int64_t> registration_order(std::size_t count) {
  std::vector<std::int64_t> order(count);
  std::iota(order.begin(), order.end(), std::int64_t{0});
  return order;
}

}  // namespace

BucketLimits BucketLimits::from_cap(std::optional<double> bucket_cap_mb) {
  if (!bucket_cap_mb) return {};
  if (!(*bucket_cap_mb > 0.0) || *bucket_cap_mb > 8e12) {
    throw std::invalid_argument("bucket_cap_mb " + std::to_string(*bucket_cap_mb) +
                                ", expected a positive number of MiB");
  }
  const auto bytes = static_cast<std::int64_t>(*bucket_cap_mb * 1024.0 * 1024.0);
  return {bytes, bytes};
}

Buckets assign_buckets(std::span<const Gradient> gradients, std::span<const std::int64_t> order,
                       const BucketLimits& limits) {
  Buckets closed;
  std::vector<OpenBucket> open;
  for (const std::int64_t index : order) {
    if (index < 0 || index >= static_cast<std::int64_t>(gradients.size())) {
      throw std::invalid_argument("assign_buckets: gradient " + std::to_string(index) + " of " +
                                  std::to_string(gradients.size()));
    }
    const Gradient& gradient = gradients[static_cast<std::size_t>(index)];
    auto bucket = std::find_if(open.begin(), open.end(), [&](const OpenBucket& candidate) {
      return candidate.dtype == gradient.dtype && candidate.device == gradient.device;
    });
    if (bucket == open.end()) {
      open.push_back({gradient.dtype, gradient.device, 0, limits.first_bytes, {}});
      bucket = open.end() - 1;
    }
    bucket->members.push_back(index);
    bucket->bytes += gradient.bytes;
    if (bucket->bytes >= bucket->limit_bytes) {
      closed.push_back(std::move(bucket->members));
      bucket->members.clear();
      bucket->bytes = 0;
      bucket->limit_bytes = limits.later_bytes;
    }
  }
  for (OpenBucket& bucket : open) {
    if (!bucket.members.empty()) closed.push_back(std::move(bucket.members));
  }
  return closed;
}

Buckets first_iteration_buckets(std::span<const Gradient> gradients, const BucketLimits& limits,
                                bool find_unused_parameters) {
  const std::int64_t unlimited = std::numeric_limits<std::int64_t>::max();
  const BucketLimits applied = find_unused_parameters ? limits : BucketLimits{unlimited, unlimited};
  Buckets buckets = assign_buckets(gradients, registration_order(gradients.size()), applied);
  // In registration order DDP sorts by first member, then reverses: the last layers' gradients are ready first.
  std::sort(buckets.begin(), buckets.end(), [](const auto& a, const auto& b) { return a.front() < b.front(); });
  std::reverse(buckets.begin(), buckets.end());
  return buckets;
}

Buckets rebuilt_buckets(std::span<const Gradient> gradients, std::span<const std::int64_t> ready_order,
                        const BucketLimits& limits) {
  return assign_buckets(gradients, ready_order, limits);
}

std::int64_t bucket_bytes(std::span<const Gradient> gradients, std::span<const std::int64_t> bucket) {
  return std::accumulate(bucket.begin(), bucket.end(), std::int64_t{0}, [&](std::int64_t sum, std::int64_t index) {
    return sum + gradients[static_cast<std::size_t>(index)].bytes;
  });
}

}  // namespace ddpprof::step
