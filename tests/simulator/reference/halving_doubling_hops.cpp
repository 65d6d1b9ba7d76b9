#include <algorithm>
#include <bit>
#include <cmath>
#include <stdexcept>
#include <string>

#include "tests/simulator/reference/hops.hpp"

namespace ddpprof::hops {
namespace {

void require(double message_bytes, const collective::Link& link, std::size_t ranks) {
  for (const double figure : {link.latency_s, link.bandwidth_s_per_byte, link.reduction_s_per_byte})
    if (!(figure >= 0.0) || !std::isfinite(figure))
      throw std::invalid_argument("hops: a link's figure is " + std::to_string(figure) +
                                  ", expected finite and 0 or more");
  if (!(message_bytes >= 0.0) || !std::isfinite(message_bytes))
    throw std::invalid_argument("hops: a message of " + std::to_string(message_bytes) + " bytes, expected 0 or more");
  if (ranks == 0) throw std::invalid_argument("hops: no rank");
}

// Both partners have met and exchanged.
void exchange(std::size_t distance, double hop_s, std::span<double> times_s) {
  for (std::size_t rank = 0; rank < times_s.size(); ++rank) {
    const std::size_t partner = rank ^ distance;
    if (partner < rank) continue;
    times_s[rank] = times_s[partner] = std::max(times_s[rank], times_s[partner]) + hop_s;
  }
}

}  // namespace

void halving_doubling(double message_bytes, const collective::Link& link, std::span<double> times_s) {
  require(message_bytes, link, times_s.size());
  const std::size_t ranks = times_s.size();
  if (!std::has_single_bit(ranks))
    throw std::invalid_argument("halving_doubling: " + std::to_string(ranks) + " ranks, expected a power of two");
  double bytes = message_bytes / 2.0;
  for (std::size_t distance = ranks / 2; distance >= 1; distance /= 2, bytes /= 2.0) {
    exchange(distance, link.latency_s + bytes * (link.bandwidth_s_per_byte + link.reduction_s_per_byte), times_s);
  }
  for (std::size_t distance = 1; distance < ranks; distance *= 2) {
    bytes *= 2.0;
    exchange(distance, link.latency_s + bytes * link.bandwidth_s_per_byte, times_s);
  }
}

}  // namespace ddpprof::hops
