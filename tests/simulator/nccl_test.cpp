// The halves of a ring, and NCCL's choice of an algorithm and a protocol.
#include "simulator/collective/nccl.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <stdexcept>
#include <string>

#include "simulator/collective/collectives.hpp"
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
