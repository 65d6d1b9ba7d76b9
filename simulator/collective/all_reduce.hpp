// Cost of one all-reduce by algorithm: closed forms, each split into latency, bandwidth and reduction.
//
// N: ranks. S: message bytes. Every form is 0 for one rank. Throws std::invalid_argument if N < 1 or S < 0.
#pragma once

#include <cstdint>

namespace ddpprof::collective {

struct Link {
  double latency_s = 0.0;             // alpha: one step's one-way latency
  double bandwidth_s_per_byte = 0.0;  // beta: 1 / bandwidth
  double reduction_s_per_byte = 0.0;  // gamma: adding one byte to another
};

struct Cost {
  double latency_s = 0.0;
  double bandwidth_s = 0.0;
  double reduction_s = 0.0;

  double total_s() const { return latency_s + bandwidth_s + reduction_s; }
};

Cost operator+(const Cost&, const Cost&);
Cost operator*(double factor, const Cost&);
Link operator*(double factor, const Link&);

// The hops of a ring, one after another, in two phases of equal length.
struct Hops {
  double count = 0.0;
  double bytes = 0.0;  // of each hop
};

// 2(N-1) hops of S/N bytes.
Hops ring_hops(std::int64_t workers, double message_bytes);

// 2(N-1) alpha + 2(N-1)/N S beta + (N-1)/N S gamma. (Thakur, Rabenseifner, Gropp 2005; Patarasuk, Yuan 2009.)
// A ring of whole-byte chunks is the same with S = N * floor(S / N).
Cost ring(std::int64_t workers, double message_bytes, const Link&);

// Gloo's default all-reduce: a ring over segments of at most 1 MiB, two segments in flight, at least 2N of them.
// The number of segments is max(ceil(S / 1 MiB), 2N) rounded up to a multiple of N; a segment is S over that, rounded
// up to whole elements; K = segments (N-1)/N steps a phase. Transfers take 2K s beta.
//
// Latency: a segment waits 2 alpha, for the receiver's notification and for the transport. The other segment may use
// the link meanwhile. If the waits are exponential, as those of a scheduler or a network are, this is a closed queue of
// two customers: when a transfer ends, the other segment still waits with probability exp(-s beta / (2 alpha)), and the
// link then idles for alpha until the first of the two is ready: idle = alpha exp(-s beta / (2 alpha)) per step. The
// first step of a phase finds both segments waiting: 2 alpha + 2 (K-1) idle. Small messages take 2K alpha (measured
// with a set delay: 4.09 alpha at N = 2, 12.3 at N = 4); large messages hide this time.
//
// Reduction: a step of the reduce-scatter phase takes at least as long as its reduction, and one last reduction is not
// hidden: K max(0, s gamma - s beta - idle) + s gamma.
Cost gloo_segmented_ring(std::int64_t workers, std::int64_t message_bytes, const Link&, std::int64_t element_bytes = 4);
Hops gloo_segmented_ring_hops(std::int64_t workers, std::int64_t message_bytes, std::int64_t element_bytes = 4);

}  // namespace ddpprof::collective
