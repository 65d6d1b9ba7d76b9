// Many draws at once beside one simulation of each.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "simulator/stats/random.hpp"
#include "simulator/step/ddp_draws.hpp"
#include "simulator/step/ddp_draws_kernel.hpp"
#include "simulator/step/ddp_step.hpp"

namespace ddpprof::step {
namespace {

constexpr DrawnLink kinds[] = {{1, false, false, false}, {2, false, false, false}, {2, true, false, false},
                               {2, true, true, false},   {1, true, false, true},   {2, false, true, true}};

// Of all hops of a bucket, as simulator/collective has it.
double waits_s(const DrawnBucket& bucket, bool segmented, double alpha, double beta) {
  if (!segmented || bucket.hops == 0.0) return bucket.hops * alpha;
  return alpha > 0.0 ? alpha * (2.0 + (bucket.hops - 2.0) * std::exp(-0.5 * bucket.hop_bytes * beta / alpha)) : 0.0;
}

TEST(SimulateDraws, GivesWhatEachDrawsOwnSimulationGives) {
  stats::Random random(5);
  for (int round = 0; round < 200; ++round) {
    const std::size_t counts[] = {0, 1, 2, 3, 7, 40};
    std::vector<DrawnBucket> buckets(counts[round % 6]);
    for (DrawnBucket& bucket : buckets) {
      bucket = {0.12 * random.uniform(), 2.0 * std::floor(8.0 * random.uniform()), 1e5 * random.uniform(),
                1e6 * random.uniform()};
    }
    const bool turns = round % 4 < 2;
    DrawnTimes times;
    for (int draw = 0; draw < 21; ++draw) {  // no multiple of a block
      times.pace.push_back(0.5 + random.uniform());
      times.forward_s.push_back(0.1 * random.uniform());
      times.backward_s.push_back(0.1 * times.pace.back());
      times.straggler_s.push_back(draw % 3 == 0 ? 0.0 : 0.02 * random.uniform());
      times.hop_s.push_back(draw % 5 == 0 ? 0.0 : 2e-4 * random.uniform());
      times.hop_s_per_byte.push_back(draw % 7 == 0 ? 0.0 : 1e-8 * random.uniform());
      times.reduction_s_per_byte.push_back(draw % 6 == 0 ? 0.0 : 2e-8 * random.uniform());
      times.turn_s.push_back(draw % 8 == 0 || !turns ? 0.0 : 5e-4 * random.uniform());
      times.copy_s_per_byte.push_back(draw % 4 == 0 ? 0.0 : 1e-9 * random.uniform());
    }
    for (const DrawnLink& kind : kinds) {
      const DrawnResults drawn = simulate_draws(buckets, kind, times);
      for (std::size_t draw = 0; draw < times.pace.size(); ++draw) {
        const double alpha = times.hop_s[draw], beta = times.hop_s_per_byte[draw];
        DdpStep step;
        step.lanes = kind.lanes;
        step.forward_s = times.forward_s[draw];
        step.backward_s = times.backward_s[draw];
        for (const DrawnBucket& bucket : buckets) {
          const double reduce_s = bucket.hop_bytes * times.reduction_s_per_byte[draw];
          collective::Cost cost{
              waits_s(bucket, kind.segmented, alpha, beta), bucket.hops * bucket.hop_bytes * beta,
              0.5 * bucket.hops * std::max(0.0, reduce_s - alpha - bucket.hop_bytes * beta) + reduce_s};
          const double longer_s = waits_s(bucket, kind.segmented, alpha + times.turn_s[draw], beta) - cost.latency_s;
          if (kind.latency_is_free) cost.latency_s = 0.0;
          if (kind.bandwidth_is_free) cost.bandwidth_s = cost.reduction_s = 0.0;
          step.buckets.push_back({.ready_s = bucket.ready_s * times.pace[draw],
                                  .cost = cost,
                                  .copy_back_s = bucket.copied_bytes * times.copy_s_per_byte[draw],
                                  .beside_compute_s = kind.latency_is_free ? 0.0 : longer_s});
        }
        const DdpResult even = simulate(step);
        step.straggler_s = times.straggler_s[draw];
        const DdpResult late = simulate(step);
        const auto where = testing::Message() << "round " << round << ", draw " << draw << ", lanes " << kind.lanes;
        ASSERT_NEAR(drawn.even_backward_s[draw], even.backward_s, 1e-12) << where;
        ASSERT_NEAR(drawn.even_copy_s[draw], even.exposed_copy_s, 1e-12) << where;
        ASSERT_NEAR(drawn.even_finish_s[draw], even.finish_s, 1e-12) << where;
        ASSERT_NEAR(drawn.late_finish_s[draw], late.finish_s, 1e-12) << where;
        ASSERT_NEAR(drawn.communication_s[draw], even.communication_s, 1e-12) << where;
        ASSERT_NEAR(drawn.latency_s[draw], even.cost.latency_s, 1e-12) << where;
        ASSERT_NEAR(drawn.alone_s[draw], even.cost.total_s(), 1e-12) << where;
      }
    }
  }
}

TEST(SimulateDraws, GivesTheSameDigitsWhateverTheRegisters) {
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
    for (const draws::Absent& absent : {draws::Absent{}, draws::Absent{.turns = true}}) {
      draws::Block twin = block;
      draws::Room room{std::vector<draws::Transfer>(buckets.size()), std::vector<draws::Values>(buckets.size())};
      draws::Run runs[4];
      draws::plain()(buckets, kind, absent, late, block, room, runs[0], runs[1]);
      draws::fastest()(buckets, kind, absent, late, twin, room, runs[2], runs[3]);
      EXPECT_EQ(std::memcmp(&block, &twin, sizeof block), 0) << round;
      EXPECT_EQ(std::memcmp(&runs[0], &runs[2], 2 * sizeof runs[0]), 0) << round;
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
