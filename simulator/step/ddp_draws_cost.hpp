// Cost of a bucket's all-reduce for several draws, hop by hop as in simulator/collective.
#pragma once

#include <cstddef>

#include "simulator/step/ddp_draws_vectors.hpp"

namespace ddpprof::step::draws {

template <typename Lanes>
struct Cost {
  Lanes latency_s, fixed_s, shared_s;  // fixed_s: latency and reduction, which do not share the link
  Lanes alone_s, beside_s;             // all of it, alone and beside compute

  // Returns the time beside compute over the time alone.
  [[gnu::always_inline]] Lanes stretch() const {
    using V = Vectors<sizeof(Lanes) / sizeof(double)>;
    return V::choose(V::less(Lanes{}, alone_s), beside_s / alone_s, Lanes{} + 1.0);
  }
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

  // Idle time of the link for each hop; the first hop of a phase is separate. The textbook ring hides nothing.
  [[gnu::always_inline]] static Lanes idle(double hop_bytes, const Lanes& hop_s, const Lanes& hiding) {
    return hop_s * V::exp_of_minus(hop_bytes * hiding);
  }
  [[gnu::always_inline]] Lanes latency(double hops, const Lanes& hop_s, const Lanes& idle_s) const {
    if (!segmented) return hops * hop_s;
    return hops == 0.0 ? Lanes{} : 2.0 * hop_s + (hops - 2.0) * idle_s;
  }

  // The cost of a bucket or a message.
  template <bool turns>
  [[gnu::always_inline]] Cost<Lanes> cost(const auto& of) const {
    const double hops = of.hops, hop_bytes = of.hop_bytes;
    const Lanes carry = hop_bytes * per_byte_s, reduce = hop_bytes * reduction_s_per_byte;
    Cost<Lanes> cost;
    cost.shared_s = hops * carry;
    Lanes reduced;
    if (segmented) {
      const Lanes idle_s = idle(hop_bytes, latency_s, hiding_per_byte);
      cost.latency_s = latency(hops, latency_s, idle_s);
      const Lanes uncovered = V::max(reduce - carry - idle_s, Lanes{});
      reduced = hops == 0.0 ? Lanes{} : 0.5 * hops * uncovered + reduce;
    } else {
      cost.latency_s = latency(hops, latency_s, latency_s);
      reduced = 0.5 * hops * reduce;
    }
    cost.fixed_s = cost.latency_s + reduced;
    cost.alone_s = cost.beside_s = cost.fixed_s + cost.shared_s;
    if (turns) {
      const Lanes hop_s = latency_s + turn_s;
      const Lanes idle_s = segmented ? idle(hop_bytes, hop_s, hiding_per_byte_beside) : hop_s;
      // A collective that takes no time alone ends at once, as in step::simulate.
      const Lanes longer = cost.alone_s + (latency(hops, hop_s, idle_s) - cost.latency_s);
      cost.beside_s = V::choose(V::less(Lanes{}, cost.alone_s), longer, cost.alone_s);
    }
    return cost;
  }
};

}  // namespace ddpprof::step::draws
