// Collectives beside the all-reduce, groups of ranks on nodes, and NCCL's choice.
#include "simulator/collective/network.hpp"

#include <gtest/gtest.h>

#include "simulator/collective/collectives.hpp"
#include "simulator/collective/nccl.hpp"
#include "tests/simulator/reference/nccl_choice.hpp"

namespace ddpprof::collective {
namespace {

constexpr Link link{10e-6, 1e-10, 2e-11};

TEST(Collectives, TheHalvesOfARingMakeTheAllReduce) {
  for (const std::int64_t workers : {1, 2, 5, 64}) {
    const Cost halves = ring_reduce_scatter(workers, 1e6, link) + ring_all_gather(workers, 1e6, link);
    const Cost whole = ring(workers, 1e6, link);
    EXPECT_NEAR(halves.latency_s, whole.latency_s, 1e-15);
    EXPECT_NEAR(halves.bandwidth_s, whole.bandwidth_s, 1e-15);
    EXPECT_NEAR(halves.reduction_s, whole.reduction_s, 1e-15);
  }
}

TEST(Collectives, BroadcastsAndSend) {
  EXPECT_DOUBLE_EQ(tree_broadcast(8, 1e6, link).total_s(), 3 * (10e-6 + 1e-4));
  EXPECT_DOUBLE_EQ(tree_broadcast(9, 1e6, link).total_s(), 4 * (10e-6 + 1e-4));
  EXPECT_EQ(tree_broadcast(1, 1e6, link).total_s(), 0.0);
  EXPECT_DOUBLE_EQ(send(1e6, link).total_s(), 10e-6 + 1e-4);
  EXPECT_THROW(tree_broadcast(0, 1.0, link), std::invalid_argument);
  EXPECT_THROW(send(-1.0, link), std::invalid_argument);
}

Network machines(std::int64_t ranks_per_node, std::int64_t nics) {
  return {{2e-6, 1e-11, 0.0}, {20e-6, 1e-10, 0.0}, ranks_per_node, nics};
}

TEST(Network, CountsRanksAndNodesOfAGroup) {
  const Network network = machines(8, 1);
  EXPECT_EQ((Group{4, 1}.nodes(network)), 1);
  EXPECT_EQ((Group{16, 1}.nodes(network)), 2);
  EXPECT_EQ((Group{16, 2}.ranks_on_a_node(network)), 4);
  EXPECT_EQ((Group{16, 2}.nodes(network)), 4);
  EXPECT_EQ((Group{4, 8}.ranks_on_a_node(network)), 1);
  EXPECT_EQ((Group{4, 16}.nodes(network)), 4);
  // Groups that begin in the middle of a node, and strides that do not divide it.
  EXPECT_EQ((Group{4, 1, 6}.nodes(network)), 2);
  EXPECT_EQ((Group{4, 6}.nodes(network)), 3);  // ranks 0, 6 | 12 | 18
  EXPECT_EQ((Group{4, 6}.ranks_on_a_node(network)), 2);
  EXPECT_EQ((Group{9, 3}.nodes(network)), 4);
}

TEST(Network, ARingTakesTheSlowestLinksBandwidthAndEachStepsOwnLatency) {
  const Network network = machines(4, 1);
  const Cost cost = all_reduce(network, {8, 1}, 8e6);
  EXPECT_NEAR(cost.bandwidth_s, 2.0 * 7 / 8 * 8e6 * 1e-10, 1e-12);
  // One of the 7 steps in each phase is between nodes.
  EXPECT_NEAR(cost.latency_s, 2 * (6 * 2e-6 + 1 * 20e-6), 1e-12);
  const Cost inside = all_reduce(network, {4, 1}, 8e6);
  EXPECT_NEAR(inside.total_s(), ring(4, 8e6, network.inside).total_s(), 1e-15);
}

TEST(Network, ReductionIsNotLostWhereTheSlowLinkHasNone) {
  const Network network{{1e-6, 1e-11, 5e-10}, {1e-5, 1e-10, 0.0}, 4, 1};
  EXPECT_NEAR(all_reduce(network, {8, 1}, 8e6).reduction_s, 7.0 / 8 * 8e6 * 5e-10, 1e-12);
}

TEST(Network, GroupsSideBySideShareTheNic) {
  // Four groups, each with one rank on every node, leave through one NIC; or each through its own.
  const double shared = all_reduce(machines(4, 1), {8, 4}, 8e6).bandwidth_s;
  const double own = all_reduce(machines(4, 0), {8, 4}, 8e6).bandwidth_s;
  const double two = all_reduce(machines(4, 2), {8, 4}, 8e6).bandwidth_s;
  EXPECT_NEAR(shared, 4 * own, 1e-12);
  EXPECT_NEAR(two, 2 * own, 1e-12);
}

TEST(Network, TwoLevelIsTheFormulaOfTheAllReduce) {
  const Network network = machines(4, 1);
  const TwoLevel shape{network.inside, network.across, 4, true};
  EXPECT_NEAR(all_reduce(network, {16, 1}, 8e6, Algorithm::two_level).total_s(), two_level(16, 8e6, shape).total_s(),
              1e-15);
}

TEST(Network, SendsStayInsideANodeOrShareItsNic) {
  const Network network = machines(4, 1);
  EXPECT_NEAR(send(network, 0, 1, 1e6).total_s(), 2e-6 + 1e-5, 1e-15);
  EXPECT_NEAR(send(network, 3, 1, 1e6).total_s(), 20e-6 + 1e-4, 1e-15);  // alone across
  EXPECT_NEAR(send(network, 0, 4, 1e6).total_s(), 20e-6 + 4e-4, 1e-15);  // with its three neighbours
  EXPECT_EQ(send(network, 0, 0, 1e6).total_s(), 0.0);
}

TEST(Network, OneRankCostsNothingAndNonsenseIsRefused) {
  const Network network = machines(4, 1);
  for (const Cost& cost : {all_reduce(network, {1, 1}, 1e6), reduce_scatter(network, {1, 1}, 1e6),
                           all_gather(network, {1, 4}, 1e6), broadcast(network, {1, 1}, 1e6)})
    EXPECT_EQ(cost.total_s(), 0.0);
  EXPECT_THROW(all_reduce(network, {0, 1}, 1.0), std::invalid_argument);
  EXPECT_THROW(all_reduce(network, {2, 0}, 1.0), std::invalid_argument);
  EXPECT_THROW(all_reduce(machines(0, 1), {2, 1}, 1.0), std::invalid_argument);
  EXPECT_THROW(all_reduce(network, {2, 1}, -1.0), std::invalid_argument);
}

using nccl::Generation;
using nccl::System;

TEST(Nccl, EstimatesAreThoseOfItsFormulaByHand) {
  // Eight A100 over NVLink, 24 channels of 20 GB/s: 480 GB/s on the bus.
  const System system{.ranks = 8, .channels = 24, .inside_gb_s = 20.0};
  const auto all = nccl::all_reduce_estimates(system, std::int64_t{1} << 30);
  ASSERT_EQ(all.size(), 6U);
  const auto of = [&](const std::string& name) {
    for (const auto& one : all)
      if (nccl::to_string(one) == name) return one;
    throw std::runtime_error(name);
  };
  const auto bytes = static_cast<double>(std::int64_t{1} << 30);
  EXPECT_NEAR(of("Ring/Simple").latency_s, (8.4 + 14 * 3.4) * 1e-6, 1e-12);
  EXPECT_NEAR(of("Ring/Simple").bandwidth_s, bytes / (480e9 * 8 / 14), 1e-9);
  EXPECT_NEAR(of("Ring/LL").bandwidth_s, bytes / (87.7e9 * 8 / 14), 1e-9);
  EXPECT_NEAR(of("Ring/LL128").latency_s, (14.0 + 14 * 1.9) * 1e-6, 1e-12);
  EXPECT_NEAR(of("Ring/LL128").bandwidth_s, bytes / (0.92 * 480e9 * 8 / 14), 1e-9);
  EXPECT_NEAR(of("Tree/Simple").latency_s, (8.4 + 14 * 4.0) * 1e-6, 1e-12);
  EXPECT_NEAR(of("Tree/Simple").bandwidth_s, bytes / (0.92 * 480e9 * 0.5), 1e-9);  // 2^30 is beyond the correction
  EXPECT_EQ(nccl::to_string(*nccl::all_reduce(system, std::int64_t{1} << 30)), "Ring/Simple");
}

TEST(Nccl, TheChoiceGoesFromLowLatencyToHighBandwidth) {
  const System system{.ranks = 8, .channels = 24, .inside_gb_s = 20.0};
  EXPECT_EQ(nccl::all_reduce(system, 1024)->protocol, nccl::Protocol::ll);
  EXPECT_EQ(nccl::all_reduce(system, std::int64_t{8} << 20)->protocol, nccl::Protocol::ll128);
  EXPECT_EQ(nccl::all_reduce(system, std::int64_t{4} << 30)->protocol, nccl::Protocol::simple);
  // LL128 has no estimate on a machine that does not allow it.
  System no128 = system;
  no128.ll128 = false;
  for (const auto& one : nccl::all_reduce_estimates(no128, 4096)) EXPECT_NE(one.protocol, nccl::Protocol::ll128);
}

TEST(Nccl, ManyNodesPreferTreesForSmallMessages) {
  System system{.ranks = 512, .nodes = 64, .channels = 8, .inside_gb_s = 20.0, .across_gb_s = 20.0};
  EXPECT_EQ(nccl::all_reduce(system, 4096)->algorithm, nccl::Algorithm::tree);
  EXPECT_EQ(nccl::all_reduce(system, std::int64_t{16} << 30)->algorithm, nccl::Algorithm::ring);
  // Logarithmic beside linear: doubling the nodes adds two hops to a tree.
  const auto tree = nccl::all_reduce(system, 4096)->latency_s;
  system.ranks = 1024;
  system.nodes = 128;
  EXPECT_NEAR(nccl::all_reduce(system, 4096)->latency_s - tree, 2 * 5.0e-6, 1e-9);
}

TEST(Nccl, SwitchesThatReduceCompeteFromHopperOn) {
  System system{.ranks = 8, .generation = Generation::hopper, .channels = 16, .inside_gb_s = 20.0, .nvls = true};
  EXPECT_EQ(nccl::to_string(*nccl::all_reduce(system, std::int64_t{1} << 30)), "NVLS/Simple");
  system.generation = Generation::ampere;
  EXPECT_EQ(nccl::to_string(*nccl::all_reduce(system, std::int64_t{1} << 30)), "Ring/Simple");
  system = {.ranks = 16, .nodes = 2, .generation = Generation::hopper, .channels = 16, .nvls = true};
  bool tree = false;
  for (const auto& one : nccl::all_reduce_estimates(system, 1 << 20))
    tree = tree || nccl::to_string(one) == "NVLSTree/Simple";
  EXPECT_TRUE(tree);
}

TEST(Nccl, OneRankNeedsNothingAndNonsenseIsRefused) {
  EXPECT_FALSE(nccl::all_reduce({}, 1024).has_value());
  EXPECT_THROW(nccl::all_reduce({.ranks = 3, .nodes = 2}, 1), std::invalid_argument);
  EXPECT_THROW(nccl::all_reduce({.ranks = 2, .channels = 0}, 1), std::invalid_argument);
  EXPECT_THROW(nccl::all_reduce({.ranks = 2, .inside_gb_s = 0.0}, 1), std::invalid_argument);
  EXPECT_THROW(nccl::all_reduce({.ranks = 2}, -1), std::invalid_argument);
}

}  // namespace
}  // namespace ddpprof::collective
