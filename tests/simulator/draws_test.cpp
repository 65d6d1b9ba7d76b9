// Many draws at once beside one simulation of each.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "simulator/collective/all_reduce.hpp"
#include "simulator/stats/random.hpp"
#include "simulator/step/ddp_draws.hpp"
#include "simulator/step/ddp_draws_kernel.hpp"
#include "simulator/step/ddp_draws_vectors.hpp"
#include "simulator/step/ddp_step.hpp"

namespace ddpprof::step {
namespace {

// A message's hops as the library has them, and what simulator/collective says they cost.
struct Message {
  std::int64_t workers, bytes;
  bool segmented;

  collective::Hops hops() const {
    return segmented ? collective::gloo_segmented_ring_hops(workers, bytes)
                     : collective::ring_hops(workers, static_cast<double>(bytes));
  }
  collective::Cost cost(const collective::Link& link) const {
    return segmented ? collective::gloo_segmented_ring(workers, bytes, link)
                     : collective::ring(workers, static_cast<double>(bytes), link);
  }
};

// Compares each draw of simulate_draws with its own simulation, within `within_s`.
void expect_each_draws_own(const std::vector<DrawnBucket>& buckets, const std::vector<Message>& messages,
                           const DrawnLink& kind, const DrawnTimes& times, double within_s, int round) {
  const DrawnResults drawn = simulate_draws(buckets, kind, times);
  for (std::size_t draw = 0; draw < times.pace.size(); ++draw) {
    const collective::Link link{times.hop_s[draw], times.hop_s_per_byte[draw], times.reduction_s_per_byte[draw]};
    collective::Link beside = link;
    beside.latency_s += times.turn_s[draw];
    DdpStep step;
    step.lanes = kind.lanes;
    step.forward_s = times.forward_s[draw];
    step.backward_s = times.backward_s[draw];
    for (std::size_t i = 0; i < buckets.size(); ++i) {
      const collective::Cost cost = messages[i].cost(link);
      step.buckets.push_back({.ready_s = buckets[i].ready_s * times.pace[draw],
                              .cost = cost,
                              .copy_back_s = buckets[i].copied_bytes * times.copy_s_per_byte[draw],
                              .beside_compute_s = messages[i].cost(beside).latency_s - cost.latency_s});
    }
    const DdpResult even = simulate(step);
    step.straggler_s = times.straggler_s[draw];
    const DdpResult late = simulate(step);
    const auto where = testing::Message() << "round " << round << ", draw " << draw << ", lanes " << kind.lanes;
    ASSERT_NEAR(drawn.even_backward_s[draw], even.backward_s, within_s) << where;
    ASSERT_NEAR(drawn.even_copy_s[draw], even.exposed_copy_s, within_s) << where;
    ASSERT_NEAR(drawn.even_finish_s[draw], even.finish_s, within_s) << where;
    ASSERT_NEAR(drawn.late_finish_s[draw], late.finish_s, within_s) << where;
    ASSERT_NEAR(drawn.communication_s[draw], even.communication_s, within_s) << where;
    ASSERT_NEAR(drawn.latency_s[draw], even.cost.latency_s, within_s) << where;
    ASSERT_NEAR(drawn.alone_s[draw], even.cost.total_s(), within_s) << where;
  }
}

TEST(SimulateDraws, GivesWhatEachDrawsOwnSimulationGives) {
  stats::Random random(5);
  for (int round = 0; round < 300; ++round) {
    const std::size_t counts[] = {0, 1, 2, 3, 7, 40};
    const DrawnLink kind{1 + round % 2, round % 3 == 0};
    const std::int64_t worker_counts[] = {1, 2, 3, 8, 64};
    const std::int64_t workers = worker_counts[round % 5];
    std::vector<DrawnBucket> buckets(counts[round % 6]);
    std::vector<Message> messages;
    for (DrawnBucket& bucket : buckets) {
      const auto bytes = static_cast<std::int64_t>(8e6 * random.uniform() * random.uniform());
      messages.push_back({workers, bytes, kind.segmented});
      const collective::Hops hops = messages.back().hops();
      bucket = {0.12 * random.uniform(), hops.count, hops.bytes, static_cast<double>(bytes)};
    }
    const bool turns = round % 4 < 2;
    DrawnTimes times;
    for (int draw = 0; draw < 21; ++draw) {  // no multiple of a block
      times.pace.push_back(0.5 + random.uniform());
      times.forward_s.push_back(0.1 * random.uniform());
      times.backward_s.push_back(0.1 * times.pace.back());
      times.straggler_s.push_back(draw % 3 == 0 ? 0.0 : 0.02 * random.uniform());
      times.hop_s.push_back(draw % 5 == 0 ? 0.0 : 2e-4 * random.uniform());
      times.hop_s_per_byte.push_back(draw % 7 == 0 ? 0.0 : 1e-9 * random.uniform());
      times.reduction_s_per_byte.push_back(draw % 6 == 0 || round % 4 == 1 ? 0.0 : 2e-9 * random.uniform());
      times.turn_s.push_back(draw % 8 == 0 || !turns ? 0.0 : 5e-4 * random.uniform());
      times.copy_s_per_byte.push_back(draw % 4 == 0 ? 0.0 : 1e-9 * random.uniform());
    }
    expect_each_draws_own(buckets, messages, kind, times, 1e-12, round);
    if (HasFatalFailure()) return;
  }
}

// Whole numbers, so that events coincide: gradients that are ready together, collectives that end when another or
// compute does, some that take no time, no compute at all.
TEST(SimulateDraws, GivesWhatEachDrawsOwnSimulationGivesWhereEventsCoincide) {
  stats::Random random(7);
  const auto whole = [&](int most) { return std::floor((most + 1) * random.uniform()); };
  for (int round = 0; round < 2000; ++round) {
    const DrawnLink kind{1 + round % 2, round % 3 == 0};
    const std::int64_t workers = 1 + round % 4;
    std::vector<DrawnBucket> buckets(static_cast<std::size_t>(round % 7));
    std::vector<Message> messages;
    for (DrawnBucket& bucket : buckets) {
      messages.push_back({workers, workers * static_cast<std::int64_t>(whole(3)), kind.segmented});
      const collective::Hops hops = messages.back().hops();
      bucket = {whole(6), hops.count, hops.bytes, whole(1)};
    }
    DrawnTimes times;
    for (int draw = 0; draw < 17; ++draw) {
      times.pace.push_back(whole(2));
      times.forward_s.push_back(whole(1));
      times.backward_s.push_back(whole(6));
      times.straggler_s.push_back(whole(2));
      times.hop_s.push_back(whole(1));
      times.hop_s_per_byte.push_back(whole(1));
      times.reduction_s_per_byte.push_back(round % 5 == 0 ? 0.0 : whole(1));
      times.turn_s.push_back(round % 4 < 2 ? whole(2) : 0.0);
      times.copy_s_per_byte.push_back(round % 7 == 0 ? 0.0 : whole(1));
    }
    expect_each_draws_own(buckets, messages, kind, times, 1e-9, round);
    if (HasFatalFailure()) return;
  }
}

// Sizes that come again: at once, after a few others, after more than are remembered. Fewer draws than a block, and
// more.
TEST(SimulateDraws, GivesWhatEachDrawsOwnSimulationGivesWhereSizesComeAgain) {
  stats::Random random(8);
  const std::int64_t workers = 4;
  for (int round = 0; round < 120; ++round) {
    const DrawnLink kind{1 + round % 2, round % 3 != 0};
    const std::size_t sizes[] = {1, 3, draws::messages_kept, draws::messages_kept + 1, 20};
    std::vector<std::int64_t> bytes(sizes[round % 5]);
    for (std::int64_t& one : bytes) one = static_cast<std::int64_t>(8e6 * random.uniform());
    std::vector<DrawnBucket> buckets(45);
    std::vector<Message> messages;
    for (std::size_t i = 0; i < buckets.size(); ++i) {
      const std::size_t in_turn = i % bytes.size();
      const auto at_random = static_cast<std::size_t>(random.uniform() * static_cast<double>(bytes.size()));
      messages.push_back({workers, bytes[round % 2 == 0 ? in_turn : at_random], kind.segmented});
      const collective::Hops hops = messages.back().hops();
      buckets[i] = {0.003 * static_cast<double>(i), hops.count, hops.bytes, static_cast<double>(messages.back().bytes)};
    }
    const int counts[] = {1, 3, 8, 9, 17};
    DrawnTimes times;
    for (int draw = 0; draw < counts[round % 5]; ++draw) {
      times.pace.push_back(0.5 + random.uniform());
      times.forward_s.push_back(0.1 * random.uniform());
      times.backward_s.push_back(0.1 * times.pace.back());
      times.straggler_s.push_back(0.02 * random.uniform());
      times.hop_s.push_back(4e-4 * random.uniform());
      times.hop_s_per_byte.push_back(1e-9 * random.uniform());
      times.reduction_s_per_byte.push_back(2e-9 * random.uniform());
      times.turn_s.push_back(round % 4 < 2 ? 5e-4 * random.uniform() : 0.0);
      times.copy_s_per_byte.push_back(1e-9 * random.uniform());
    }
    expect_each_draws_own(buckets, messages, kind, times, 1e-12, round);
    if (HasFatalFailure()) return;
  }
}

TEST(SimulateDraws, ItsExponentialIsWithinItsBound) {
  using Two = draws::Vectors<2>;
  stats::Random random(9);
  for (int i = 0; i < 200000; ++i) {
    const double x = i % 2 == 0 ? 699.0 * random.uniform() : 2.0 * random.uniform();
    const double y = i % 1000 == 1 ? 0.0 : x * random.uniform();
    const Two::Lanes found = Two::exp_of_minus(Two::Lanes{x, y});
    ASSERT_NEAR(found[0] / std::exp(-x), 1.0, x * 0x1p-52 + 1e-15) << x;
    ASSERT_NEAR(found[1] / std::exp(-y), 1.0, y * 0x1p-52 + 1e-15) << y;
  }
  EXPECT_EQ(Two::exp_of_minus(Two::Lanes{})[0], 1.0);
  EXPECT_LT(Two::exp_of_minus(Two::Lanes{1e4, 1e300})[1], 1.01e-304);
}

TEST(SimulateDraws, GivesTheSameDigitsWhateverTheRegisters) {
  const std::vector<draws::RunBlock> kernels = draws::kernels();
  if (kernels.size() == 1) GTEST_SKIP() << "this processor has the plain registers only";
  stats::Random random(6);
  for (int round = 0; round < 100; ++round) {
    std::vector<DrawnBucket> buckets(static_cast<std::size_t>(round % 9));
    double ready_s = 0.0;
    for (DrawnBucket& bucket : buckets) {
      ready_s += 0.02 * random.uniform();
      bucket = {ready_s, 6.0, 1e5 * random.uniform(), 1e6 * random.uniform()};
    }
    draws::Block block;
    draws::Pass late;
    for (std::size_t k = 0; k < draws::width; ++k) {
      block.pace.lane[k] = 0.5 + random.uniform();
      block.backward_s.lane[k] = block.even_backward_s.lane[k] = ready_s * block.pace.lane[k];
      block.hop_s.lane[k] = 1e-3 * random.uniform();
      block.hop_s_per_byte.lane[k] = 1e-8 * random.uniform();
      block.reduction_s_per_byte.lane[k] = 2e-8 * random.uniform();
      block.turn_s.lane[k] = 1e-4 * random.uniform();
      block.copy_s_per_byte.lane[k] = 1e-9 * random.uniform();
      late.slope.lane[k] = 1.1 * block.pace.lane[k];
      late.offset.lane[k] = 0.01 * random.uniform();
      late.length_s.lane[k] = late.slope.lane[k] * ready_s + late.offset.lane[k];
    }
    const DrawnLink kind{1 + round % 2, round % 3 == 0};
    const draws::Plan plan = draws::plan(buckets, kind);
    const draws::Block before = block;
    for (const draws::Absent& absent :
         {draws::Absent{}, draws::Absent{.turns = true}, draws::Absent{.turns = true, .reduction = true},
          draws::Absent{.turns = true, .reduction = true, .copies = true}}) {
      kernels.front()(plan, kind, absent, late, block);
      for (std::size_t i = 1; i < kernels.size(); ++i) {
        draws::Block twin = before;
        kernels[i](plan, kind, absent, late, twin);
        EXPECT_EQ(std::memcmp(&block, &twin, sizeof block), 0) << round << " kernel " << i;
      }
    }
  }
}

TEST(SimulateDraws, RefusesWhatCannotBe) {
  DrawnTimes times{{1.0}, {0.1}, {0.1}, {0.0}, {0.0}, {0.0}, {0.0}, {0.0}, {0.0}};
  EXPECT_NO_THROW(simulate_draws({{0.0, 1.0, 1.0, 0.0}}, {}, times));
  EXPECT_THROW(simulate_draws({{-1.0, 1.0, 1.0, 0.0}}, {}, times), std::invalid_argument);
  EXPECT_THROW(simulate_draws({{0.0, std::numeric_limits<double>::infinity(), 1.0, 0.0}}, {}, times),
               std::invalid_argument);
  EXPECT_THROW(simulate_draws({}, {.lanes = 3}, times), std::invalid_argument);
  times.hop_s = {-1e-9};
  EXPECT_THROW(simulate_draws({}, {}, times), std::invalid_argument);
  times.hop_s = {std::numeric_limits<double>::quiet_NaN()};
  EXPECT_THROW(simulate_draws({}, {}, times), std::invalid_argument);
  times.hop_s = {0.0, 0.0};
  EXPECT_THROW(simulate_draws({}, {}, times), std::invalid_argument);
}

}  // namespace
}  // namespace ddpprof::step
