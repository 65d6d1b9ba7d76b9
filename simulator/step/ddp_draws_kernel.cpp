#include "simulator/step/ddp_draws_kernel.hpp"

#include <utility>

#include "simulator/step/ddp_draws_cost.hpp"
#include "simulator/step/ddp_draws_two_lanes.hpp"
#include "simulator/step/ddp_draws_vectors.hpp"

#if defined(__x86_64__) && defined(__GNUC__)
#define DDPPROF_X86 1
#endif

namespace ddpprof::step::draws {
namespace {

// One collective at a time: a recurrence. The step with and without the straggler is computed side by side, because
// both share each collective's cost. Several vectors of draws are computed together, because each waits for its own
// last result.
template <std::size_t W, bool is_line, bool copies, bool turns>
[[gnu::always_inline]] inline void one_lane(const std::vector<DrawnBucket>& buckets, const DrawnLink& kind,
                                            const Pass& late, Block& block) {
  using V = Vectors<W>;
  using Lanes = typename V::Lanes;
  using Mask = typename V::Mask;
  constexpr std::size_t step = 2 * W;  // registers hold no more
  for (std::size_t from = 0; from < block.draws; from += step) {
    const Hop<W> hops[2] = {{kind, block, from}, {kind, block, from + W}};
    Lanes even_end[2] = {}, late_end[2] = {}, even_finish[2], late_finish[2];
    Lanes all_latency[2] = {}, all_alone[2] = {}, all_busy[2] = {};
    for (std::size_t j = 0; j < 2; ++j) {
      even_finish[j] = V::load(block.even_backward_s, from + j * W);
      late_finish[j] = V::load(late.length_s, from + j * W);
    }
    // The cost of a ring without reduction is linear in its hops and bytes, so their sums give the cost of all buckets.
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
        Cost<Lanes> cost;
        if (is_line) {
          cost.alone_s = bucket.hops * fixed[j] + bucket.hops * bucket.hop_bytes * carried[j];
        } else {
          cost = hops[j].template cost<turns>(bucket);
          all_latency[j] += cost.latency_s;
          all_alone[j] += cost.alone_s;
        }
        const auto go = [&](const Lanes& ready, const Lanes& length, Lanes& end) __attribute__((always_inline)) {
          const Lanes start = V::max(ready, end);
          if (!turns) {
            end = start + cost.alone_s;
            return start;
          }
          const Mask beside = V::less(start, length);
          end = start + V::choose(beside, cost.beside_s, cost.alone_s);
          // The rest of the collective after the end of compute runs at its pace alone.
          const Mask crosses = beside & V::less(length, end);
          if (V::any(crosses)) end = V::choose(crosses, length + (end - length) * (cost.alone_s / cost.beside_s), end);
          return start;
        };
        const Lanes even_ready = V::load(block.pace, first) * bucket.ready_s;
        const Lanes late_ready = V::load(late.slope, first) * bucket.ready_s + V::load(late.offset, first);
        const Lanes even_start = go(even_ready, V::load(block.even_backward_s, first), even_end[j]);
        go(late_ready, V::load(late.length_s, first), late_end[j]);
        if (turns) all_busy[j] += even_end[j] - even_start;
        if (!copies) continue;
        const Lanes back = bucket.copied_bytes * V::load(block.copy_s_per_byte, first);
        even_finish[j] = V::max(even_end[j], even_finish[j]) + back;
        late_finish[j] = V::max(late_end[j], late_finish[j]) + back;
      }
    }
    for (std::size_t j = 0; j < 2; ++j) {
      const std::size_t first = from + j * W;
      const Lanes even_backward = V::load(block.even_backward_s, first);
      if (is_line) {
        all_latency[j] = all_hops * fixed[j];
        all_alone[j] = all_latency[j] + all_bytes * carried[j];
      }
      if (!copies) {
        even_finish[j] = V::max(even_end[j], even_finish[j]);
        late_finish[j] = V::max(late_end[j], late_finish[j]);
      }
      V::store(even_finish[j] - V::max(even_end[j], even_backward), first, block.even_copy_s);
      V::store(even_finish[j], first, block.even_finish_s);
      V::store(late_finish[j], first, block.late_finish_s);
      V::store(turns ? all_busy[j] : all_alone[j], first, block.communication_s);
      V::store(all_latency[j], first, block.latency_s);
      V::store(all_alone[j], first, block.alone_s);
    }
  }
}

template <std::size_t W, bool turns>
[[gnu::always_inline]] inline void two_lanes(const Plan& plan, const DrawnLink& kind, const Pass& late, Block& block) {
  using V = Vectors<W>;
  using Lanes = typename V::Lanes;
  struct Known {
    Lanes fixed_s, shared_s, stretch;
  } costs[messages_kept];
  const double all_copied_bytes = plan.launches.empty() ? 0.0 : plan.launches.front().copied_bytes;
  for (std::size_t first = 0; first < block.draws; first += W) {
    const Hop<W> hop(kind, block, first);
    const Lanes copy_s_per_byte = V::load(block.copy_s_per_byte, first);
    const Lanes all_copies = all_copied_bytes * copy_s_per_byte;
    TwoLanes<W> even_link(V::load(block.even_backward_s, first), all_copies);
    TwoLanes<W> late_link(V::load(late.length_s, first), all_copies);
    Lanes all_latency = {}, all_alone = {};
    std::size_t met = 0;
    const auto go = [&]<bool beside>(const Launch& launch) __attribute__((always_inline)) {
      Known& known = costs[launch.message % messages_kept];
      // After the end of compute, the cost beside compute is not needed.
      if (launch.message == met) {
        const Message& message = plan.messages[met++];
        const Cost<Lanes> cost = hop.template cost<beside>(message);
        all_latency += message.launches * cost.latency_s;
        all_alone += message.launches * cost.alone_s;
        known = {cost.fixed_s, cost.shared_s, beside ? cost.stretch() : Lanes{}};
      }
      const Lanes copies = launch.copied_bytes * copy_s_per_byte;
      even_link.template launch<beside>(V::load(block.pace, first) * launch.ready_s, known.fixed_s, known.shared_s,
                                        known.stretch, copies);
      late_link.template launch<beside>(V::load(late.slope, first) * launch.ready_s + V::load(late.offset, first),
                                        known.fixed_s, known.shared_s, known.stretch, copies);
    };
    auto launch = plan.launches.begin();
    if (turns)
      for (; launch != plan.launches.end() && (even_link.computes() || late_link.computes()); ++launch)
        go.template operator()<true>(*launch);
    for (; launch != plan.launches.end(); ++launch) go.template operator()<false>(*launch);
    even_link.template end<turns>();
    late_link.template end<turns>();
    V::store(even_link.finish_s() - even_link.last_end_s(), first, block.even_copy_s);
    V::store(even_link.finish_s(), first, block.even_finish_s);
    V::store(late_link.finish_s(), first, block.late_finish_s);
    V::store(even_link.busy_s(), first, block.communication_s);
    V::store(all_latency, first, block.latency_s);
    V::store(all_alone, first, block.alone_s);
  }
}

template <std::size_t W>
[[gnu::always_inline]] inline void run_lanes(const Plan& plan, const DrawnLink& kind, const Absent& absent,
                                             const Pass& late, Block& block) {
  if (kind.lanes == 2)
    return absent.turns ? two_lanes<W, false>(plan, kind, late, block) : two_lanes<W, true>(plan, kind, late, block);
  if (!absent.turns) return one_lane<W, false, true, true>(plan.buckets, kind, late, block);
  const bool is_line = absent.reduction && !kind.segmented;
  if (is_line && absent.copies) return one_lane<W, true, false, false>(plan.buckets, kind, late, block);
  if (is_line) return one_lane<W, true, true, false>(plan.buckets, kind, late, block);
  return one_lane<W, false, true, false>(plan.buckets, kind, late, block);
}

void run_block(const Plan& plan, const DrawnLink& kind, const Absent& absent, const Pass& late, Block& block) {
  run_lanes<2>(plan, kind, absent, late, block);
}

#ifdef DDPPROF_X86
__attribute__((target("avx2"))) void run_block_avx2(const Plan& plan, const DrawnLink& kind, const Absent& absent,
                                                    const Pass& late, Block& block) {
  run_lanes<4>(plan, kind, absent, late, block);
}

__attribute__((target("avx512f,avx512dq,avx512vl"))) void run_block_avx512(const Plan& plan, const DrawnLink& kind,
                                                                           const Absent& absent, const Pass& late,
                                                                           Block& block) {
  run_lanes<8>(plan, kind, absent, late, block);
}
#endif

}  // namespace

Plan plan(std::vector<DrawnBucket> buckets, const DrawnLink& kind) {
  Plan plan{std::move(buckets), {}, {}};
  if (kind.lanes == 1) return plan;
  plan.launches.reserve(plan.buckets.size());
  plan.messages.reserve(plan.buckets.size());
  for (const DrawnBucket& bucket : plan.buckets) {
    const std::size_t count = plan.messages.size();
    std::size_t message = count;
    for (std::size_t i = count; i > 0 && i + messages_kept > count && message == count; --i) {
      const Message& other = plan.messages[i - 1];
      if (other.hops == bucket.hops && other.hop_bytes == bucket.hop_bytes) message = i - 1;
    }
    if (message == count) plan.messages.push_back({bucket.hops, bucket.hop_bytes, 0.0});
    plan.messages[message].launches += 1.0;
    plan.launches.push_back({bucket.ready_s, 0.0, message});
  }
  double bytes = 0.0;
  for (std::size_t i = plan.buckets.size(); i > 0; --i)
    plan.launches[i - 1].copied_bytes = bytes += plan.buckets[i - 1].copied_bytes;
  return plan;
}

std::vector<RunBlock> kernels() {
  std::vector<RunBlock> all = {run_block};
#ifdef DDPPROF_X86
  if (__builtin_cpu_supports("avx2")) all.push_back(run_block_avx2);
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    all.push_back(run_block_avx512);
#endif
  return all;
}

}  // namespace ddpprof::step::draws
