#include "simulator/step/ddp_draws_kernel.hpp"

#include <cstdint>
#include <cstring>
#include <limits>

#if defined(__x86_64__) && defined(__GNUC__)
#define DDPPROF_AVX2 1
#endif
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wpsabi"  // everything below is inlined: no vector is passed in a call
#endif

namespace ddpprof::step::draws {
namespace {

// Vectors of the compiler's: every lane rounds alike, whatever registers the processor has. `W` draws at once, from
// `first` on.
template <std::size_t W>
struct Types;

// Spelt out: a compiler may take a size that depends on a template's parameter for no size at all.
template <>
struct Types<2> {
  using Lanes = double __attribute__((vector_size(16)));
  using Mask = std::int64_t __attribute__((vector_size(16)));
  // The same in memory, wherever it lies.
  using InMemory = double __attribute__((vector_size(16), aligned(8), may_alias));
};

template <>
struct Types<4> {
  using Lanes = double __attribute__((vector_size(32)));
  using Mask = std::int64_t __attribute__((vector_size(32)));
  using InMemory = double __attribute__((vector_size(32), aligned(8), may_alias));
};

template <std::size_t W>
struct Vectors : Types<W> {
  using typename Types<W>::Lanes;
  using typename Types<W>::Mask;
  using typename Types<W>::InMemory;
  static_assert(sizeof(Lanes) == W * sizeof(double) && sizeof(Mask) == sizeof(Lanes));

  [[gnu::always_inline]] static InMemory& of(Values& values, std::size_t first) {
    return *reinterpret_cast<InMemory*>(values.lane + first);
  }
  [[gnu::always_inline]] static const InMemory& of(const Values& values, std::size_t first) {
    return *reinterpret_cast<const InMemory*>(values.lane + first);
  }
  [[gnu::always_inline]] static bool any(const Mask& mask) {
    std::int64_t each[W], some = 0;
    std::memcpy(each, &mask, sizeof each);
    for (const std::int64_t one : each) some |= one;
    return some != 0;
  }
  // Of the draws in the mask, the value into their own place.
  [[gnu::always_inline]] static void store_where(const Mask& mask, const Lanes& values, const Mask& places,
                                                 std::size_t first, std::vector<Values>& to) {
    std::int64_t each[W], place[W];
    double value[W];
    std::memcpy(each, &mask, sizeof each);
    std::memcpy(place, &places, sizeof place);
    std::memcpy(value, &values, sizeof value);
    for (std::size_t k = 0; k < W; ++k)
      if (each[k] != 0) to[static_cast<std::size_t>(place[k])].lane[first + k] = value[k];
  }
};

// exp(-x) for x >= 0, to the last digits; below 1e-304 it may stay there.
template <std::size_t W>
[[gnu::always_inline]] inline typename Vectors<W>::Lanes exp_of_minus(typename Vectors<W>::Lanes x) {
  using Lanes = typename Vectors<W>::Lanes;
  using Mask = typename Vectors<W>::Mask;
  const Lanes zero = {}, most = zero + 700.0;
  x = x < most ? x : most;
  // x = k ln 2 + r with |r| <= ln 2 / 2: adding 1.5 * 2^52 leaves k in the low bits.
  constexpr double round = 0x1.8p52, log2_e = 1.4426950408889634;
  constexpr double ln2_high = 0x1.62e42feep-1, ln2_low = 0x1.a39ef35793c76p-33;
  const Lanes shifted = x * log2_e + round, k = shifted - round;
  const Lanes minus_r = k * ln2_high - x + k * ln2_low;
  constexpr double inverse_factorials[] = {1.0 / 6227020800.0,
                                           1.0 / 479001600.0,
                                           1.0 / 39916800.0,
                                           1.0 / 3628800.0,
                                           1.0 / 362880.0,
                                           1.0 / 40320.0,
                                           1.0 / 5040.0,
                                           1.0 / 720.0,
                                           1.0 / 120.0,
                                           1.0 / 24.0,
                                           1.0 / 6.0,
                                           0.5,
                                           1.0,
                                           1.0};
  Lanes sum = zero;
  for (const double coefficient : inverse_factorials) sum = sum * minus_r + coefficient;
  const Mask exponent = 1023 - ((Mask)shifted - (Mask)(zero + round));
  return sum * (Lanes)(exponent << 52);
}

// What each hop costs some draws, and of it what counts.
template <std::size_t W>
struct Hop {
  using Lanes = typename Vectors<W>::Lanes;
  Lanes latency_s, turn_s, per_byte_s, reduction_s_per_byte;
  bool segmented;

  [[gnu::always_inline]] Hop(const DrawnLink& kind, const Block& block, std::size_t first)
      : latency_s(Vectors<W>::of(block.hop_s, first)),
        turn_s(Vectors<W>::of(block.turn_s, first)),
        per_byte_s(Vectors<W>::of(block.hop_s_per_byte, first)),
        reduction_s_per_byte(Vectors<W>::of(block.reduction_s_per_byte, first)),
        segmented(kind.segmented) {}

  // Of each hop what the link idles for, the first of a phase apart; the textbook's ring hides nothing.
  [[gnu::always_inline]] Lanes idle(const Lanes& hop_s, const Lanes& carry_s) const {
    const Lanes least = Lanes{} + 1e-300, divisor = hop_s > least ? hop_s : least;
    return hop_s * exp_of_minus<W>(0.5 * carry_s / divisor);
  }

  [[gnu::always_inline]] Lanes latency(const DrawnBucket& bucket, const Lanes& hop_s, const Lanes& idle_s) const {
    if (!segmented) return bucket.hops * hop_s;
    return bucket.hops == 0.0 ? Lanes{} : 2.0 * hop_s + (bucket.hops - 2.0) * idle_s;
  }

  [[gnu::always_inline]] void cost(const DrawnBucket& bucket, Lanes& latencies, Lanes& reduced, Lanes& shared) const {
    const Lanes zero = {};
    const Lanes carry = bucket.hop_bytes * per_byte_s, reduce = bucket.hop_bytes * reduction_s_per_byte;
    shared = bucket.hops * carry;
    if (!segmented) {
      latencies = bucket.hops * latency_s;
      reduced = 0.5 * bucket.hops * reduce;
      return;
    }
    const Lanes idle_s = idle(latency_s, carry), uncovered = reduce - carry - idle_s;
    latencies = latency(bucket, latency_s, idle_s);
    reduced = bucket.hops == 0.0 ? zero : 0.5 * bucket.hops * (uncovered > zero ? uncovered : zero) + reduce;
  }

  [[gnu::always_inline]] Lanes latency_beside_compute(const DrawnBucket& bucket) const {
    const Lanes hop_s = latency_s + turn_s;
    return latency(bucket, hop_s, segmented ? idle(hop_s, bucket.hop_bytes * per_byte_s) : hop_s);
  }
};

template <std::size_t W>
[[gnu::always_inline]] inline void cost_lanes(const std::vector<DrawnBucket>& buckets, const DrawnLink& kind,
                                              bool turns, std::size_t first, Block& block, Room& room) {
  using V = Vectors<W>;
  using Lanes = typename V::Lanes;
  const Lanes zero = {}, one = zero + 1.0;
  const Hop<W> hop(kind, block, first);
  Lanes all_latency = zero, all_alone = zero;
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    Lanes latency, reduced, shared;
    hop.cost(buckets[i], latency, reduced, shared);
    const Lanes fixed = latency + reduced, alone = fixed + shared;
    V::of(room.transfers[i].fixed_s, first) = fixed;
    V::of(room.transfers[i].shared_s, first) = shared;
    all_latency += latency;
    all_alone += alone;
    if (!turns) continue;
    const Lanes beside = alone + (hop.latency_beside_compute(buckets[i]) - latency);
    V::of(room.transfers[i].pace, first) = alone > zero ? alone / beside : one;
    V::of(room.transfers[i].stretch, first) = alone > zero ? beside / alone : one;
  }
  V::of(block.latency_s, first) = all_latency;
  V::of(block.alone_s, first) = all_alone;
}

// One collective at a time and nothing beside compute: a recurrence. With and without the straggler side by side, as
// they share each collective's cost, and several vectors of draws, as each waits for its own last result. The buckets'
// ready times ascend.
template <std::size_t W, bool is_line, bool copies>
[[gnu::always_inline]] inline void recurrence_lanes(const std::vector<DrawnBucket>& buckets, const DrawnLink& kind,
                                                    const Pass& late, Block& block) {
  using V = Vectors<W>;
  using Lanes = typename V::Lanes;
  constexpr std::size_t step = 2 * W;  // registers hold no more
  for (std::size_t from = 0; from < width; from += step) {
    const Hop<W> hops[2] = {{kind, block, from}, {kind, block, from + W}};
    Lanes even_end[2] = {}, late_end[2] = {}, even_finish[2], late_finish[2], all_latency[2] = {}, all_alone[2] = {};
    for (std::size_t j = 0; j < 2; ++j) {
      even_finish[j] = V::of(block.even_backward_s, from + j * W);
      late_finish[j] = V::of(late.length_s, from + j * W);
    }
    // A ring without reduction is a line in its hops and bytes: their sums say what all cost.
    double all_hops = 0.0, all_bytes = 0.0;
    Lanes fixed[2] = {}, carried[2] = {};
    if (is_line) {
      for (std::size_t j = 0; j < 2; ++j) {
        fixed[j] = hops[j].latency_s;
        carried[j] = hops[j].per_byte_s;
      }
      for (const DrawnBucket& bucket : buckets) {
        all_hops += bucket.hops;
        all_bytes += bucket.hops * bucket.hop_bytes;
      }
    }
    for (const DrawnBucket& bucket : buckets) {
#pragma GCC unroll 2
      for (std::size_t j = 0; j < 2; ++j) {
        const std::size_t first = from + j * W;
        Lanes cost;
        if (is_line) {
          cost = bucket.hops * fixed[j] + bucket.hops * bucket.hop_bytes * carried[j];
        } else {
          Lanes latency, reduced, shared;
          hops[j].cost(bucket, latency, reduced, shared);
          cost = latency + reduced + shared;
          all_latency[j] += latency;
          all_alone[j] += cost;
        }
        const Lanes even_ready = V::of(block.pace, first) * bucket.ready_s;
        const Lanes late_ready = V::of(late.slope, first) * bucket.ready_s + V::of(late.offset, first);
        even_end[j] = (even_ready > even_end[j] ? even_ready : even_end[j]) + cost;
        late_end[j] = (late_ready > late_end[j] ? late_ready : late_end[j]) + cost;
        if (!copies) continue;
        const Lanes back = bucket.copied_bytes * V::of(block.copy_s_per_byte, first);
        even_finish[j] = (even_end[j] > even_finish[j] ? even_end[j] : even_finish[j]) + back;
        late_finish[j] = (late_end[j] > late_finish[j] ? late_end[j] : late_finish[j]) + back;
      }
    }
    for (std::size_t j = 0; j < 2; ++j) {
      const std::size_t first = from + j * W;
      const Lanes even_backward = V::of(block.even_backward_s, first);
      if (is_line) {
        all_latency[j] = all_hops * fixed[j];
        all_alone[j] = all_latency[j] + all_bytes * carried[j];
      }
      if (!copies) {
        even_finish[j] = even_end[j] > even_finish[j] ? even_end[j] : even_finish[j];
        late_finish[j] = late_end[j] > late_finish[j] ? late_end[j] : late_finish[j];
      }
      V::of(block.even_copy_s, first) = even_finish[j] - (even_end[j] > even_backward ? even_end[j] : even_backward);
      V::of(block.even_finish_s, first) = even_finish[j];
      V::of(block.late_finish_s, first) = late_finish[j];
      V::of(block.communication_s, first) = all_alone[j];
      V::of(block.latency_s, first) = all_latency[j];
      V::of(block.alone_s, first) = all_alone[j];
    }
  }
}

// Two collectives at most, from event to event as step::simulate does, each draw at a time of its own.
template <std::size_t W>
[[gnu::always_inline]] inline void event_lanes(const std::vector<DrawnBucket>& buckets, int lanes, bool turns,
                                               const Pass& pass, const Values& copies, std::size_t first, Room& room,
                                               Run& run) {
  using V = Vectors<W>;
  using Lanes = typename V::Lanes;
  using Mask = typename V::Mask;
  const Lanes zero = {}, one = zero + 1.0, never = zero + std::numeric_limits<double>::infinity();
  const Lanes slope = V::of(pass.slope, first), offset = V::of(pass.offset, first);
  const Lanes length = V::of(pass.length_s, first);
  const Mask none = {};
  Lanes now = zero, communication = zero;
  Lanes fixed0 = zero, fixed1 = zero, shared0 = zero, shared1 = zero;
  Lanes pace0 = one, pace1 = one, stretch0 = one, stretch1 = one;
  Mask bucket0 = none, bucket1 = none;
  for (std::size_t i = 0; i <= buckets.size(); ++i) {
    // Until this bucket is ready and finds a lane; after the last one until both lanes are idle.
    const bool all_started = i == buckets.size();
    const Lanes ready = all_started ? zero : slope * buckets[i].ready_s + offset;
    while (true) {
      const Mask busy0 = (fixed0 > zero) | (shared0 > zero), busy1 = (fixed1 > zero) | (shared1 > zero);
      const Mask early = now < ready;
      const Mask waits = all_started ? busy0 | busy1 : lanes == 2 ? early | (busy0 & busy1) : early | busy0;
      if (!V::any(waits)) break;
      const Mask computing = now<length, in_fixed0 = fixed0> zero, in_fixed1 = fixed1 > zero;
      // Two that are both in their transfer have half the link each.
      const Mask both = busy0 & busy1 & ~in_fixed0 & ~in_fixed1;
      const Lanes half = both ? zero + 0.5 : one, twice = both ? zero + 2.0 : one;
      Lanes rate0 = half, rate1 = half, slower0 = twice, slower1 = twice;
      if (turns) {
        rate0 *= computing ? pace0 : one;
        rate1 *= computing ? pace1 : one;
        slower0 *= computing ? stretch0 : one;
        slower1 *= computing ? stretch1 : one;
      }
      const Lanes work0 = in_fixed0 ? fixed0 : shared0, work1 = in_fixed1 ? fixed1 : shared1;
      const Lanes left0 = busy0 ? work0 * slower0 : never, left1 = busy1 ? work1 * slower1 : never;
      const Lanes to_end = computing ? length - now : never, to_ready = early ? ready - now : never;
      Lanes wait = left0 < left1 ? left0 : left1;
      wait = to_end < wait ? to_end : wait;
      wait = to_ready < wait ? to_ready : wait;
      wait = waits ? wait : zero;
      // What ends the wait lands exactly on its target, whatever rounding did to the rest.
      const Lanes after0 = work0 - wait * rate0, after1 = work1 - wait * rate1;
      const Lanes rest0 = (wait >= left0) | (after0 < zero) ? zero : after0;
      const Lanes rest1 = (wait >= left1) | (after1 < zero) ? zero : after1;
      const Mask fixed_moves0 = waits & in_fixed0, fixed_moves1 = waits & in_fixed1;
      const Mask shared_moves0 = waits & ~in_fixed0, shared_moves1 = waits & ~in_fixed1;
      fixed0 = fixed_moves0 ? rest0 : fixed0;
      fixed1 = fixed_moves1 ? rest1 : fixed1;
      shared0 = shared_moves0 ? rest0 : shared0;
      shared1 = shared_moves1 ? rest1 : shared1;
      const Mask busy = busy0 | busy1;
      communication += busy ? wait : zero;
      Lanes then = now + wait;
      then = wait >= to_ready ? ready : then;
      then = wait >= to_end ? length : then;
      now = waits ? then : now;
      const Mask ended0 = busy0 & (fixed0 == zero) & (shared0 == zero);
      const Mask ended1 = busy1 & (fixed1 == zero) & (shared1 == zero);
      const Mask ended = ended0 | ended1;
      if (!V::any(ended)) continue;
      V::store_where(ended0, now, bucket0, first, room.end_s);
      V::store_where(ended1, now, bucket1, first, room.end_s);
    }
    if (all_started) break;
    const Mask into0 = (fixed0 == zero) & (shared0 == zero);
    const Transfer& transfer = room.transfers[i];
    const Lanes new_fixed = V::of(transfer.fixed_s, first), new_shared = V::of(transfer.shared_s, first);
    const Mask place = none + static_cast<std::int64_t>(i);
    fixed0 = into0 ? new_fixed : fixed0;
    fixed1 = into0 ? fixed1 : new_fixed;
    shared0 = into0 ? new_shared : shared0;
    shared1 = into0 ? shared1 : new_shared;
    bucket0 = into0 ? place : bucket0;
    bucket1 = into0 ? bucket1 : place;
    V::of(room.end_s[i], first) = now;  // of one that takes no time
    if (!turns) continue;
    const Lanes new_pace = V::of(transfer.pace, first), new_stretch = V::of(transfer.stretch, first);
    pace0 = into0 ? new_pace : pace0;
    pace1 = into0 ? pace1 : new_pace;
    stretch0 = into0 ? new_stretch : stretch0;
    stretch1 = into0 ? stretch1 : new_stretch;
  }
  Lanes finish = length, last_end = length;
  const Lanes copy = V::of(copies, first);
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    const Lanes end = V::of(room.end_s[i], first);
    finish = (end > finish ? end : finish) + buckets[i].copied_bytes * copy;
    last_end = end > last_end ? end : last_end;
  }
  V::of(run.finish_s, first) = finish;
  V::of(run.last_end_s, first) = last_end;
  V::of(run.communication_s, first) = communication;
}

template <std::size_t W>
[[gnu::always_inline]] inline void run_lanes(const std::vector<DrawnBucket>& buckets, const DrawnLink& kind,
                                             const Absent& absent, const Pass& late, Block& block, Room& room,
                                             Run& even_run, Run& late_run) {
  if (kind.lanes == 1 && absent.turns) {
    const bool is_line = absent.reduction && !kind.segmented;
    if (is_line && absent.copies) return recurrence_lanes<W, true, false>(buckets, kind, late, block);
    if (is_line) return recurrence_lanes<W, true, true>(buckets, kind, late, block);
    return recurrence_lanes<W, false, true>(buckets, kind, late, block);
  }
  const Pass even{block.pace, {}, block.even_backward_s};
  for (std::size_t first = 0; first < width; first += W) {
    cost_lanes<W>(buckets, kind, !absent.turns, first, block, room);
    event_lanes<W>(buckets, kind.lanes, !absent.turns, even, block.copy_s_per_byte, first, room, even_run);
    event_lanes<W>(buckets, kind.lanes, !absent.turns, late, block.copy_s_per_byte, first, room, late_run);
  }
}

void run_block(const std::vector<DrawnBucket>& buckets, const DrawnLink& kind, const Absent& absent, const Pass& late,
               Block& block, Room& room, Run& even_run, Run& late_run) {
  run_lanes<2>(buckets, kind, absent, late, block, room, even_run, late_run);
}

#ifdef DDPPROF_AVX2
__attribute__((target("avx2"))) void run_block_avx2(const std::vector<DrawnBucket>& buckets, const DrawnLink& kind,
                                                    const Absent& absent, const Pass& late, Block& block, Room& room,
                                                    Run& even_run, Run& late_run) {
  run_lanes<4>(buckets, kind, absent, late, block, room, even_run, late_run);
}
#endif

}  // namespace

RunBlock plain() { return run_block; }

RunBlock fastest() {
#ifdef DDPPROF_AVX2
  if (__builtin_cpu_supports("avx2")) return run_block_avx2;
#endif
  return run_block;
}

}  // namespace ddpprof::step::draws
