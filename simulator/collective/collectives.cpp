#include "simulator/collective/collectives.hpp"

#include <stdexcept>
#include <string>

namespace ddpprof::collective {

Cost ring_all_gather(std::int64_t workers, double message_bytes, const Link& link) {
  if (workers < 1)
    throw std::invalid_argument("collective: " + std::to_string(workers) + " workers, expected 1 or more");
  if (!(message_bytes >= 0.0))
    throw std::invalid_argument("collective: " + std::to_string(message_bytes) + " bytes, expected 0 or more");
  const auto n = static_cast<double>(workers);
  return {(n - 1.0) * link.latency_s, (n - 1.0) * (message_bytes / n * link.bandwidth_s_per_byte), 0.0};
}

Cost ring_reduce_scatter(std::int64_t workers, double message_bytes, const Link& link) {
  Cost cost = ring_all_gather(workers, message_bytes, link);
  const auto n = static_cast<double>(workers);
  cost.reduction_s = (n - 1.0) * (message_bytes / n * link.reduction_s_per_byte);
  return cost;
}

}  // namespace ddpprof::collective
