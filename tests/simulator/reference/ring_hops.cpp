#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "tests/simulator/reference/hops.hpp"

namespace ddpprof::hops {

Ring::Ring(std::span<const collective::Link> links)
    : links_(links.begin(), links.end()),
      hop_s_(links.size()),
      occupied_s_(links.size()),
      free_s_(links.size()),
      other_s_(links.size()) {
  if (links.empty()) throw std::invalid_argument("ring: no link, expected one for each rank");
  for (const collective::Link& link : links) {
    for (const double figure : {link.latency_s, link.bandwidth_s_per_byte, link.reduction_s_per_byte}) {
      if (!(figure >= 0.0) || !std::isfinite(figure))
        throw std::invalid_argument("ring: a link's figure is " + std::to_string(figure) +
                                    ", expected finite and 0 or more");
    }
  }
}

// A rank passes on what it received in the round before, once its link has let the last chunk go. Latency delays a
// chunk and leaves the link free. Both ends have to have arrived.
void Ring::rounds(double chunk_bytes, double reduced, std::span<double> times_s) {
  const std::size_t ranks = links_.size();
  if (times_s.size() != ranks)
    throw std::invalid_argument("ring: " + std::to_string(times_s.size()) + " times for " + std::to_string(ranks) +
                                " ranks");
  if (!(chunk_bytes >= 0.0) || !std::isfinite(chunk_bytes))
    throw std::invalid_argument("ring: chunks of " + std::to_string(chunk_bytes) + " bytes, expected 0 or more");
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const collective::Link& link = links_[(rank + ranks - 1) % ranks];
    occupied_s_[rank] = chunk_bytes * link.bandwidth_s_per_byte;
    hop_s_[rank] = link.latency_s + occupied_s_[rank] + reduced * chunk_bytes * link.reduction_s_per_byte;
    free_s_[rank] = times_s[rank];
  }
  double* now = times_s.data();
  double* next = other_s_.data();
  double* free = free_s_.data();
  const double* hop = hop_s_.data();
  const double* occupied = occupied_s_.data();
  for (std::size_t round = 0; round + 1 < ranks; ++round) {
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      const double start = std::max(now[rank == 0 ? ranks - 1 : rank - 1], free[rank]);
      free[rank] = start + occupied[rank];
      next[rank] = start + hop[rank];
    }
    std::swap(now, next);
  }
  // Done with the last receipt and with the last chunk sent.
  for (std::size_t rank = 0; rank < ranks; ++rank) next[rank] = std::max(now[rank], free[(rank + 1) % ranks]);
  if (ranks == 1) next[0] = now[0];
  if (next != times_s.data()) std::copy(next, next + ranks, times_s.data());
}

void Ring::reduce_scatter(double chunk_bytes, std::span<double> times_s) { rounds(chunk_bytes, 1.0, times_s); }

void Ring::all_gather(double chunk_bytes, std::span<double> times_s) { rounds(chunk_bytes, 0.0, times_s); }

void Ring::all_reduce(double chunk_bytes, std::span<double> times_s) {
  reduce_scatter(chunk_bytes, times_s);
  all_gather(chunk_bytes, times_s);
}

}  // namespace ddpprof::hops
