#include "simulator/collective/collectives.hpp"

#include <bit>
#include <stdexcept>
#include <string>

namespace ddpprof::collective {
namespace {

void require_operands(std::int64_t workers, double message_bytes) {
  if (workers < 1)
    throw std::invalid_argument("collective: " + std::to_string(workers) + " workers, expected 1 or more");
  if (!(message_bytes >= 0.0))
    throw std::invalid_argument("collective: " + std::to_string(message_bytes) + " bytes, expected 0 or more");
}

Cost steps_of(double steps, double bytes, const Link& link) {
  return {steps * link.latency_s, steps * (bytes * link.bandwidth_s_per_byte), 0.0};
}

}  // namespace

Cost ring_all_gather(std::int64_t workers, double message_bytes, const Link& link) {
  require_operands(workers, message_bytes);
  const auto n = static_cast<double>(workers);
  return steps_of(n - 1.0, message_bytes / n, link);
}

Cost ring_reduce_scatter(std::int64_t workers, double message_bytes, const Link& link) {
  Cost cost = ring_all_gather(workers, message_bytes, link);
  const auto n = static_cast<double>(workers);
  cost.reduction_s = (n - 1.0) * (message_bytes / n * link.reduction_s_per_byte);
  return cost;
}

Cost tree_broadcast(std::int64_t workers, double message_bytes, const Link& link) {
  require_operands(workers, message_bytes);
  return steps_of(static_cast<double>(std::bit_width(static_cast<std::uint64_t>(workers - 1))), message_bytes, link);
}

Cost send(double message_bytes, const Link& link) {
  require_operands(1, message_bytes);
  return steps_of(1.0, message_bytes, link);
}

}  // namespace ddpprof::collective
