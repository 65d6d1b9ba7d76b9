// Gradients in ready order and the buckets that DDP's rule makes of them, from databases as a run leaves them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/fit/compute_fit.hpp"
#include "analysis/fit/measured/gradients.hpp"
#include "tests/analysis/fit/synthetic.hpp"

namespace ddpprof::fit {
namespace {

using synthetic::TemporaryDatabase;
using testing::ElementsAre;
using testing::Field;

constexpr std::int64_t mib = 1 << 20;

std::vector<GradientReady> four() {
  return {{3, mib, 4, 0.1}, {2, 2 * mib, 4, 0.2}, {1, mib / 2, 2, 0.3}, {0, mib, 4, 0.4}};
}

TEST(Gradients, FillBucketsInReadyOrderByPrecision) {
  const auto buckets = bucketed(four(), {3 * mib, 3 * mib}, false);
  EXPECT_THAT(buckets,
              ElementsAre(Field(&Bucket::bytes, 3 * mib), Field(&Bucket::bytes, mib), Field(&Bucket::bytes, mib / 2)));
  EXPECT_DOUBLE_EQ(buckets[0].ready_s, 0.2);
  EXPECT_DOUBLE_EQ(buckets[1].ready_s, 0.4);
}

// find_unused_parameters keeps the buckets of the first iteration: registration order, the list reversed.
TEST(Gradients, WithUnusedParametersFillBucketsInOrderOfRegistration) {
  const auto buckets = bucketed(four(), {mib, 4 * mib}, true);
  EXPECT_THAT(buckets,
              ElementsAre(Field(&Bucket::bytes, 3 * mib), Field(&Bucket::bytes, mib / 2), Field(&Bucket::bytes, mib)));
  EXPECT_DOUBLE_EQ(buckets[2].ready_s, 0.4);  // parameter 0, registered first, is reduced last
}

// If DDP rebuilt its buckets, its own order of the gradients counts, not the medians of the measured steps.
TEST(Gradients, ComeInTheOrderInWhichDdpRebuiltItsBuckets) {
  synthetic::Truth truth;
  TemporaryDatabase database("gradients");
  synthetic::add_ddp(database.get(), truth, {1}, 1);
  auto& sql = database.get().sql();
  const MeasurementInfo info = read_measurements(sql).at(0);
  const auto order = [&] {
    std::vector<std::int64_t> parameters;
    for (const GradientReady& gradient : read_gradients(sql, info, read_steps(sql, info.id)))
      parameters.push_back(gradient.parameter);
    return parameters;
  };
  EXPECT_THAT(order(), ElementsAre(0, 1, 2));
  for (const auto& [position, parameter] : {std::pair{0, 1}, {1, 0}, {2, 2}})
    sql.exec("INSERT INTO bucket VALUES (1, 1, 0, " + std::to_string(position) + ", " + std::to_string(parameter) +
             ")");
  EXPECT_THAT(order(), ElementsAre(1, 0, 2));
}

std::map<std::int64_t, StepProfile> measured_on(std::int64_t nodes, std::int64_t machines, std::int64_t cores) {
  std::map<std::int64_t, StepProfile> profiles;
  for (const std::int64_t workers : {1, 4}) {
    StepProfile profile;
    profile.machine = {workers, 1, cores, workers == 1 ? 1 : nodes, workers == 1 ? 1 : machines, "gloo", "cpu"};
    profile.forward_s = 1.0;
    profiles.emplace(workers, profile);
  }
  return profiles;
}

// The machine of more ranks: on the one pool of cores that all ranks shared, or on additional pools if there were
// several.
TEST(Machines, MoreRanksComeWhereRanksWere) {
  const auto asked = [](std::int64_t nodes, std::int64_t machines, std::int64_t per_node) {
    const Machine machine = fit_compute("ddp", measured_on(nodes, machines, 8)).machine_for(16, per_node);
    return std::tuple(machine.nodes, machine.machines, machine.ranks_per_machine());
  };
  EXPECT_EQ(asked(1, 1, 0), std::tuple(1, 1, 16));   // one host
  EXPECT_EQ(asked(4, 4, 0), std::tuple(16, 16, 1));  // hosts of their own
  EXPECT_EQ(asked(4, 1, 0), std::tuple(16, 1, 16));  // containers of one machine
  EXPECT_EQ(asked(1, 4, 0), std::tuple(1, 16, 1));   // bound to cores of their own
  EXPECT_EQ(asked(1, 1, 4), std::tuple(4, 4, 4));    // four on each of four hosts
  EXPECT_EQ(asked(4, 1, 8), std::tuple(2, 2, 8));
  EXPECT_EQ(asked(1, 4, 8), std::tuple(2, 16, 1));
}

}  // namespace
}  // namespace ddpprof::fit
