#include "simulator/collective/all_reduce.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

namespace ddpprof::collective {
namespace {

void require(std::int64_t workers, double message_bytes) {
  if (workers < 1) {
    throw std::invalid_argument("all-reduce: " + std::to_string(workers) + " workers, expected 1 or more");
  }
  if (!(message_bytes >= 0.0)) {
    throw std::invalid_argument("all-reduce: " + std::to_string(message_bytes) + " bytes, expected 0 or more");
  }
}

std::int64_t divide_up(std::int64_t value, std::int64_t by) { return (value + by - 1) / by; }

}  // namespace

Cost operator+(const Cost& a, const Cost& b) {
  return {a.latency_s + b.latency_s, a.bandwidth_s + b.bandwidth_s, a.reduction_s + b.reduction_s};
}

Cost operator*(double factor, const Cost& cost) {
  return {factor * cost.latency_s, factor * cost.bandwidth_s, factor * cost.reduction_s};
}

Link operator*(double factor, const Link& link) {
  return {factor * link.latency_s, factor * link.bandwidth_s_per_byte, factor * link.reduction_s_per_byte};
}

Hops ring_hops(std::int64_t workers, double message_bytes) {
  require(workers, message_bytes);
  const auto n = static_cast<double>(workers);
  return {2.0 * (n - 1.0), message_bytes / n};
}

Cost ring(std::int64_t workers, double message_bytes, const Link& link) {
  const Hops hops = ring_hops(workers, message_bytes);
  return {hops.count * link.latency_s, hops.count * (hops.bytes * link.bandwidth_s_per_byte),
          0.5 * hops.count * (hops.bytes * link.reduction_s_per_byte)};
}

Hops gloo_segmented_ring_hops(std::int64_t workers, std::int64_t message_bytes, std::int64_t element_bytes) {
  require(workers, static_cast<double>(message_bytes));
  if (element_bytes < 1) {
    throw std::invalid_argument("gloo_segmented_ring: elements of " + std::to_string(element_bytes) +
                                " bytes, expected 1 or more");
  }
  if (workers == 1 || message_bytes == 0) return {};
  constexpr std::int64_t max_segment_bytes = 1 << 20;
  const std::int64_t segments =
      divide_up(std::max(divide_up(message_bytes, max_segment_bytes), 2 * workers), workers) * workers;
  const std::int64_t segment_bytes = divide_up(divide_up(message_bytes, segments), element_bytes) * element_bytes;
  const std::int64_t steps_of_a_phase = segments / workers * (workers - 1);  // segments is a multiple of workers
  return {2.0 * static_cast<double>(steps_of_a_phase), static_cast<double>(segment_bytes)};
}

Cost gloo_segmented_ring(std::int64_t workers, std::int64_t message_bytes, const Link& link,
                         std::int64_t element_bytes) {
  const Hops hops = gloo_segmented_ring_hops(workers, message_bytes, element_bytes);
  if (hops.count == 0.0) return {};
  const double transfer_s = hops.bytes * link.bandwidth_s_per_byte;
  const double reduce_s = hops.bytes * link.reduction_s_per_byte;
  const double idle_s = link.latency_s > 0.0 ? link.latency_s * std::exp(-0.5 * transfer_s / link.latency_s) : 0.0;
  const double uncovered_s = std::max(0.0, reduce_s - transfer_s - idle_s);
  return {2.0 * link.latency_s + (hops.count - 2.0) * idle_s, hops.count * transfer_s,
          0.5 * hops.count * uncovered_s + reduce_s};
}

}  // namespace ddpprof::collective
