// What a bucket's all-reduce costs some draws, hop by hop as simulator/collective has it.
#pragma once

#include <cstddef>

#include "simulator/step/ddp_draws_vectors.hpp"

namespace ddpprof::step::draws {

template <typename Lanes>
struct Cost {
  Lanes latency_s, fixed_s, shared_s;  // fixed_s: latency and reduction, which share nothing
  Lanes alone_s, beside_s;             // all of it, alone and beside compute
};

template <std::size_t W>
struct Hop {
  using V = Vectors<W>;
  using Lanes = typename V::Lanes;
  Lanes latency_s, turn_s, per_byte_s, reduction_s_per_byte;
  Lanes hiding_per_byte, hiding_per_byte_beside;  // of a byte's transfer, in hops' waits
  bool segmented;

  [[gnu::always_inline]] Hop(const DrawnLink& kind, const Block& block, std::size_t first)
      : latency_s(V::load(block.hop_s, first)),
        turn_s(V::load(block.turn_s, first)),
        per_byte_s(V::load(block.hop_s_per_byte, first)),
        reduction_s_per_byte(V::load(block.reduction_s_per_byte, first)),
        segmented(kind.segmented) {
    const Lanes least = Lanes{} + 1e-300;
    hiding_per_byte = 0.5 * per_byte_s / V::max(latency_s, least);
    hiding_per_byte_beside = 0.5 * per_byte_s / V::max(latency_s + turn_s, least);
  }

  // Of each hop what the link idles for, the first of a phase apart; the textbook's ring hides nothing.
  [[gnu::always_inline]] static Lanes idle(const DrawnBucket& bucket, const Lanes& hop_s, const Lanes& hiding) {
    return hop_s * V::exp_of_minus(bucket.hop_bytes * hiding);
  }
  [[gnu::always_inline]] Lanes latency(const DrawnBucket& bucket, const Lanes& hop_s, const Lanes& idle_s) const {
    if (!segmented) return bucket.hops * hop_s;
    return bucket.hops == 0.0 ? Lanes{} : 2.0 * hop_s + (bucket.hops - 2.0) * idle_s;
  }

  template <bool turns>
  [[gnu::always_inline]] Cost<Lanes> cost(const DrawnBucket& bucket) const {
    const Lanes carry = bucket.hop_bytes * per_byte_s, reduce = bucket.hop_bytes * reduction_s_per_byte;
    Cost<Lanes> cost;
    cost.shared_s = bucket.hops * carry;
    Lanes reduced;
    if (segmented) {
      const Lanes idle_s = idle(bucket, latency_s, hiding_per_byte);
      cost.latency_s = latency(bucket, latency_s, idle_s);
      const Lanes uncovered = V::max(reduce - carry - idle_s, Lanes{});
      reduced = bucket.hops == 0.0 ? Lanes{} : 0.5 * bucket.hops * uncovered + reduce;
    } else {
      cost.latency_s = latency(bucket, latency_s, latency_s);
      reduced = 0.5 * bucket.hops * reduce;
    }
    cost.fixed_s = cost.latency_s + reduced;
    cost.alone_s = cost.beside_s = cost.fixed_s + cost.shared_s;
    if (turns) {
      const Lanes hop_s = latency_s + turn_s;
      const Lanes idle_s = segmented ? idle(bucket, hop_s, hiding_per_byte_beside) : hop_s;
      // What takes no time alone is over at once, as step::simulate has it.
      const Lanes longer = cost.alone_s + (latency(bucket, hop_s, idle_s) - cost.latency_s);
      cost.beside_s = V::choose(V::less(Lanes{}, cost.alone_s), longer, cost.alone_s);
    }
    return cost;
  }
};

}  // namespace ddpprof::step::draws
