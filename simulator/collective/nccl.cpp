#include "simulator/collective/nccl.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <stdexcept>
#include <string>

namespace ddpprof::collective::nccl {
namespace {

constexpr double unlimited = std::numeric_limits<double>::infinity();

template <class T>
std::size_t index(T value) {
  return static_cast<std::size_t>(value);
}

using ByProtocol = std::array<double, 3>;  // LL, LL128, Simple
using ByNodes = std::array<double, 3>;     // one node, two, more

// Microseconds. Rows: tree, ring, NVLS, NVLS tree. NVLS has only the simple protocol.
constexpr std::array<ByProtocol, 4> base_us = {{{6.8, 14.0, 8.4}, {6.6, 14.0, 8.4}, {0, 0, 0}, {0, 0, 0}}};
constexpr std::array<ByProtocol, 4> nvlink_us = {{{0.6, 1.25, 4.0}, {0.6, 1.9, 3.4}, {0, 0, 25}, {0, 0, 25}}};
constexpr std::array<ByProtocol, 4> pcie_us = {{{1.0, 1.9, 4.0}, {1.0, 2.5, 5.7}, {0, 0, 0}, {0, 0, 0}}};
constexpr std::array<ByProtocol, 4> network_us = {{{5.0, 8.5, 14.0}, {2.7, 4.0, 14.0}, {0, 0, 18}, {0, 0, 20.9}}};

// GB/s; rows by generation.
constexpr std::array<ByNodes, 4> most_ll = {
    {{39.0, 39.0, 20.4}, {87.7, 22.5, 19.0}, {141.0, 45.0, 35.0}, {282.0, 90.0, 70.0}}};
constexpr std::array<ByNodes, 4> ring_ll128 = {
    {{20.0, 20.0, 20.0}, {20.0, 20.0, 20.0}, {36.7, 36.7, 36.7}, {40.0, 40.0, 40.0}}};
constexpr std::array<ByNodes, 4> tree_ll128 = {
    {{20.0, 20.0, 20.0}, {20.0, 20.0, 20.0}, {36.7, 36.7, 29.0}, {55.6, 31.67, 20.0}}};
constexpr std::array<ByNodes, 4> tree_channel = {
    {{26.5, 18.5, 10.0}, {24.0, 23.6, 17.8}, {38.7, 41.4, 36.0}, {70.0, 42.8, 24.0}}};
constexpr std::array<ByNodes, 4> nvls_tree_channel = {
    {{26.5, 18.5, 10.0}, {24.0, 23.6, 17.8}, {0.0, 57.7, 45.5}, {0.0, 96.0, 80.0}}};
constexpr std::array<double, 4> nvls_efficiency = {0.0, 0.0, 0.85, 0.74};

// Share of the bandwidth that trees reach, by powers of two from 64 bytes on.
constexpr std::array<std::array<double, 24>, 3> tree_share = {{
    {1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1, 1},
    {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1, 1},
    {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9, .9},
}};

int floor_log2(std::int64_t value) { return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(value))) - 1; }

void validate(const System& system, std::int64_t message_bytes) {
  const auto refuse = [](const std::string& what) { throw std::invalid_argument("nccl: " + what); };
  if (system.ranks < 1 || system.nodes < 1 || system.ranks % system.nodes != 0)
    refuse(std::to_string(system.ranks) + " ranks on " + std::to_string(system.nodes) +
           " nodes, expected as many on each");
  if (system.channels < 1) refuse(std::to_string(system.channels) + " channels, expected 1 or more");
  if (!(system.inside_gb_s > 0.0) || !(system.across_gb_s > 0.0)) refuse("a channel's bandwidth must be above 0 GB/s");
  if (!(system.network_us >= 0.0)) refuse("the network's latency must be 0 us or more");
  if (message_bytes < 0) refuse(std::to_string(message_bytes) + " bytes, expected 0 or more");
}

struct Place {
  const System& system;
  std::size_t nodes_column;
  double ranks_per_node;
  double channels;

  explicit Place(const System& one)
      : system(one),
        nodes_column(static_cast<std::size_t>(std::min<std::int64_t>(one.nodes, 3) - 1)),
        ranks_per_node(static_cast<double>(one.ranks / one.nodes)),
        channels(static_cast<double>(one.channels)) {}

  double of(const std::array<ByNodes, 4>& table) const { return table[index(system.generation)][nodes_column]; }
  // The LL protocol is limited by the GPUs on one node, and by the processors on several nodes.
  double ll_limit() const {
    return most_ll[system.nodes == 1 ? index(system.generation) : (system.amd_cpu ? 1 : 0)][nodes_column];
  }
  double channel_gb_s() const { return system.nodes <= 2 ? system.inside_gb_s : system.across_gb_s; }
};

// Bus bandwidth in GB/s; 0 if the combination is not used.
double ring_gb_s(const Place& place, Protocol protocol) {
  const double bus = place.channels * place.channel_gb_s();
  switch (protocol) {
    case Protocol::ll:
      return std::min(place.ll_limit(), 0.5 * bus);
    case Protocol::ll128:
      return std::min(0.92 * bus, place.channels * place.of(ring_ll128));
    default:
      return bus;
  }
}

double tree_gb_s(const Place& place, Protocol protocol) {
  double bus = std::min(0.92 * place.channels * place.channel_gb_s(), place.channels * place.of(tree_channel));
  if (protocol == Protocol::ll) bus = std::min(bus / 3.8, place.ll_limit());
  if (protocol == Protocol::ll128)
    bus = std::min(bus * (place.system.nodes == 1 ? 7.0 / 9.0 : 120.0 / 128.0), place.channels * place.of(tree_ll128));
  return place.system.one_tree_pattern ? 0.85 * bus : bus;
}

double nvls_gb_s(const Place& place, Algorithm algorithm) {
  if (!place.system.nvls || place.channels < 2.0) return 0.0;
  const bool tree = algorithm == Algorithm::nvls_tree;
  // Without a network that reduces, NVLS stays within a node, and the NVLS tree is for several nodes.
  if (tree == (place.system.nodes == 1)) return 0.0;
  const double inside = 2.0 * place.system.inside_gb_s * nvls_efficiency[index(place.system.generation)] *
                        (place.channels - 1.0) / place.channels;
  const double across = tree ? place.system.across_gb_s * (place.system.nodes <= 2 ? 2.0 : 1.0) : unlimited;
  const double limit = tree ? place.of(nvls_tree_channel) : unlimited;
  return place.channels * std::min({inside, across, limit});
}

double latency_us(const Place& place, Algorithm algorithm, Protocol protocol, std::int64_t message_bytes) {
  const System& system = place.system;
  const std::size_t a = index(algorithm), p = index(protocol);
  double inside = (system.nvlink ? nvlink_us : pcie_us)[a][p];
  // With one rank per node, the network's latency is never hidden, so the tree's value also holds for rings.
  double across = network_us[place.ranks_per_node == 1.0 ? index(Algorithm::tree) : a][p] + system.network_us;
  if (protocol == Protocol::simple) across += system.network_us;  // its flush
  const double hops = std::max(0, floor_log2(system.nodes));
  double total = base_us[a][p];
  switch (algorithm) {
    case Algorithm::ring: {
      if (system.nodes > 1) {
        const double posting = (system.amd_cpu ? 2.0 : 1.0) * (protocol == Protocol::simple ? 3.0 : 1.0);
        inside = std::max(inside, posting);
      }
      const double between = 2.0 * static_cast<double>(system.nodes - 1);
      total += (2.0 * static_cast<double>(system.ranks - 1) - between) * inside + between * across;
      const bool plateau =
          protocol == Protocol::simple && system.nodes > 1 && message_bytes / (system.channels * system.ranks) >= 64;
      return plateau ? total * (system.generation == Generation::volta ? 1.9 : 1.4) : total;
    }
    case Algorithm::tree:
      return total + 2.0 * ((place.ranks_per_node - 1.0) * inside + hops * across);
    case Algorithm::nvls:
      return inside + (system.nodes > 1 ? across : 0.0);
    case Algorithm::nvls_tree:
      return total + inside + 2.0 * hops * across;
  }
  throw std::invalid_argument("nccl: unknown algorithm");
}

}  // namespace

std::vector<Estimate> all_reduce_estimates(const System& system, std::int64_t message_bytes) {
  validate(system, message_bytes);
  std::vector<Estimate> found;
  if (system.ranks == 1) return found;
  const Place place(system);
  const auto ranks = static_cast<double>(system.ranks);
  for (const Algorithm algorithm : {Algorithm::tree, Algorithm::ring, Algorithm::nvls, Algorithm::nvls_tree}) {
    const bool nvls = algorithm == Algorithm::nvls || algorithm == Algorithm::nvls_tree;
    for (const Protocol protocol : {Protocol::ll, Protocol::ll128, Protocol::simple}) {
      if (nvls && protocol != Protocol::simple) continue;
      if (protocol == Protocol::ll128 && !system.ll128) continue;
      double bus = nvls ? nvls_gb_s(place, algorithm)
                        : (algorithm == Algorithm::ring ? ring_gb_s(place, protocol) : tree_gb_s(place, protocol));
      // A ring moves 2(N-1)/N of the message over each link, a tree moves twice the message.
      bus *= algorithm == Algorithm::tree ? 0.5 : ranks / (2.0 * (ranks - 1.0));
      const int size = floor_log2(message_bytes >> 6);
      const bool corrected = algorithm == Algorithm::tree ||
                             (algorithm == Algorithm::nvls_tree && system.generation == Generation::blackwell);
      if (corrected && size >= 0 && size < (algorithm == Algorithm::tree ? 23 : 24))
        bus *= tree_share[index(protocol)][static_cast<std::size_t>(size)];
      if (!(bus > 0.0)) continue;
      found.push_back({algorithm, protocol, latency_us(place, algorithm, protocol, message_bytes) * 1e-6,
                       static_cast<double>(message_bytes) / (bus * 1e9)});
    }
  }
  return found;
}

}  // namespace ddpprof::collective::nccl
