#include "simulator/collective/network.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "simulator/collective/collectives.hpp"

namespace ddpprof::collective {
namespace {

void require(std::int64_t value, std::int64_t least, const char* what) {
  if (value < least)
    throw std::invalid_argument("network: " + std::to_string(value) + " " + what + ", expected " +
                                std::to_string(least) + " or more");
}

void require(const Network& network, const Group& group, double message_bytes) {
  require(network.ranks_per_node, 1, "ranks a node");
  require(network.nics, 0, "NICs");
  require(group.size, 1, "ranks in a group");
  require(group.stride, 1, "as a group's stride");
  require(group.first, 0, "as a group's first rank");
  if (!(message_bytes >= 0.0))
    throw std::invalid_argument("network: " + std::to_string(message_bytes) + " bytes, expected 0 or more");
}

std::int64_t ceil_divide(std::int64_t value, std::int64_t by) { return (value + by - 1) / by; }

// Returns how many transfers share a NIC if `transfers` leave a node at once.
double sharing(const Network& network, std::int64_t transfers) {
  if (network.nics == 0) return 1.0;
  return std::max(1.0, static_cast<double>(transfers) / static_cast<double>(network.nics));
}

Link across(const Network& network, std::int64_t transfers) {
  Link link = network.across;
  link.bandwidth_s_per_byte *= sharing(network, transfers);
  return link;
}

// Returns the number of groups of this shape that have ranks on a node.
std::int64_t groups_on_a_node(const Network& network, const Group& group) {
  return ceil_divide(network.ranks_per_node, group.ranks_on_a_node(network));
}

// The steps of a ring. Steps between nodes have that link's latency; all steps move at the pace of the slowest link.
Cost over_ring(const Network& network, const Group& group, Cost inside, Cost slowest) {
  const std::int64_t nodes = group.nodes(network);
  if (nodes == 1) return inside;
  const auto steps = static_cast<double>(group.size - 1);
  const double between = static_cast<double>(nodes - 1) / steps;  // share of the steps
  Cost cost{0.0, std::max(inside.bandwidth_s, slowest.bandwidth_s), std::max(inside.reduction_s, slowest.reduction_s)};
  cost.latency_s = (1.0 - between) * inside.latency_s + between * slowest.latency_s;
  return cost;
}

template <class Form>
Cost ring_of(const Network& network, const Group& group, double message_bytes, Form form) {
  require(network, group, message_bytes);
  if (group.size == 1) return {};
  const Link outside = across(network, groups_on_a_node(network, group));
  return over_ring(network, group, form(group.size, message_bytes, network.inside),
                   form(group.size, message_bytes, outside));
}

}  // namespace

std::int64_t Group::ranks_on_a_node(const Network& network) const {
  if (stride >= network.ranks_per_node) return 1;
  std::int64_t most = 0, here = 0, node = -1;
  // The pattern of nodes repeats after `stride` nodes.
  const std::int64_t looked = std::min(size, (stride + 1) * (network.ranks_per_node / stride + 1));
  for (std::int64_t i = 0; i < looked; ++i) {
    const std::int64_t on = (first + i * stride) / network.ranks_per_node;
    here = on == node ? here + 1 : 1;
    node = on;
    most = std::max(most, here);
  }
  return most;
}

std::int64_t Group::nodes(const Network& network) const {
  if (stride >= network.ranks_per_node) return size;  // each rank is on a node of its own
  return (first + (size - 1) * stride) / network.ranks_per_node - first / network.ranks_per_node + 1;
}

Cost all_reduce(const Network& network, const Group& group, double message_bytes, Algorithm algorithm) {
  require(network, group, message_bytes);
  if (group.size == 1) return {};
  const std::int64_t groups = groups_on_a_node(network, group);
  const std::int64_t here = group.ranks_on_a_node(network);
  switch (algorithm) {
    case Algorithm::ring:
      return ring_of(network, group, message_bytes, ring);
    case Algorithm::two_level: {
      if (group.nodes(network) == 1) return ring(group.size, message_bytes, network.inside);
      // Every rank of the node is in a ring across nodes, and all of them send at once.
      TwoLevel shape{network.inside, across(network, here * groups), here, false};
      return two_level(group.size, message_bytes, shape);
    }
    case Algorithm::halving_doubling:
    case Algorithm::double_binary_tree: {
      const bool several = group.nodes(network) > 1;
      const Link link =
          several ? across(network, algorithm == Algorithm::halving_doubling ? here * groups : groups) : network.inside;
      return algorithm == Algorithm::halving_doubling ? halving_doubling(group.size, message_bytes, link)
                                                      : double_binary_tree(group.size, message_bytes, link);
    }
  }
  throw std::invalid_argument("network: unknown algorithm");
}

Cost reduce_scatter(const Network& network, const Group& group, double message_bytes) {
  return ring_of(network, group, message_bytes, ring_reduce_scatter);
}

Cost all_gather(const Network& network, const Group& group, double message_bytes) {
  return ring_of(network, group, message_bytes, ring_all_gather);
}

Cost broadcast(const Network& network, const Group& group, double message_bytes) {
  require(network, group, message_bytes);
  const std::int64_t here = group.ranks_on_a_node(network);
  const Cost outside =
      tree_broadcast(group.nodes(network), message_bytes, across(network, groups_on_a_node(network, group)));
  return outside + tree_broadcast(here, message_bytes, network.inside);
}

Cost send(const Network& network, std::int64_t from, std::int64_t distance, double message_bytes) {
  require(network, {}, message_bytes);
  require(from, 0, "as a rank");
  require(distance, 0, "ranks apart");
  if (distance == 0) return {};
  if (from / network.ranks_per_node == (from + distance) / network.ranks_per_node)
    return send(message_bytes, network.inside);
  return send(message_bytes, across(network, std::min(distance, network.ranks_per_node)));
}

}  // namespace ddpprof::collective
