#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "simulator/hops/hops.hpp"

namespace ddpprof::hops {

Ring::Ring(std::span<const collective::Link> links)
    : links_(links.begin(), links.end()), hop_s_(links.size()), other_s_(links.size()) {
  if (links.empty()) throw std::invalid_argument("ring: no link, expected one for each rank");
  for (const collective::Link& link : links) {
    for (const double figure : {link.latency_s, link.bandwidth_s_per_byte, link.reduction_s_per_byte}) {
      if (!(figure >= 0.0) || !std::isfinite(figure))
        throw std::invalid_argument("ring: a link's figure is " + std::to_string(figure) +
                                    ", expected finite and 0 or more");
    }
  }
}

// Rank r has what it sends in round k + 1 once it has received in round k, and both ends of a link do one hop after the
// other. So a rank's next time is the later of its own and its left neighbour's, plus the hop.
void Ring::rounds(std::size_t count, std::span<double> times_s) {
  const std::size_t ranks = links_.size();
  double* now = times_s.data();
  double* next = other_s_.data();
  const double* hop = hop_s_.data();
  for (std::size_t round = 0; round < count; ++round) {
    next[0] = std::max(now[ranks - 1], now[0]) + hop[0];
    for (std::size_t rank = 1; rank < ranks; ++rank) next[rank] = std::max(now[rank - 1], now[rank]) + hop[rank];
    std::swap(now, next);
  }
  if (now != times_s.data()) std::copy(now, now + ranks, times_s.data());
}

void Ring::reduce_scatter(double chunk_bytes, std::span<double> times_s) {
  const std::size_t ranks = links_.size();
  if (times_s.size() != ranks)
    throw std::invalid_argument("ring: " + std::to_string(times_s.size()) + " times for " + std::to_string(ranks) +
                                " ranks");
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const collective::Link& link = links_[(rank + ranks - 1) % ranks];
    hop_s_[rank] = link.latency_s + chunk_bytes * (link.bandwidth_s_per_byte + link.reduction_s_per_byte);
  }
  rounds(ranks - 1, times_s);
}

void Ring::all_gather(double chunk_bytes, std::span<double> times_s) {
  const std::size_t ranks = links_.size();
  if (times_s.size() != ranks)
    throw std::invalid_argument("ring: " + std::to_string(times_s.size()) + " times for " + std::to_string(ranks) +
                                " ranks");
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const collective::Link& link = links_[(rank + ranks - 1) % ranks];
    hop_s_[rank] = link.latency_s + chunk_bytes * link.bandwidth_s_per_byte;
  }
  rounds(ranks - 1, times_s);
}

void Ring::all_reduce(double chunk_bytes, std::span<double> times_s) {
  reduce_scatter(chunk_bytes, times_s);
  all_gather(chunk_bytes, times_s);
}

}  // namespace ddpprof::hops
