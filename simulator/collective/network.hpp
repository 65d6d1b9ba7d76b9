// The links between ranks on nodes, and the cost of a collective of a group of these ranks.
#pragma once

#include <cstdint>

#include "simulator/collective/all_reduce.hpp"

namespace ddpprof::collective {

enum class Algorithm { ring, two_level, halving_doubling, double_binary_tree };

// Ranks are numbered node by node.
struct Network {
  Link inside;                      // between two ranks of a node
  Link across;                      // between two nodes, when one transfer has a node's NIC for itself
  std::int64_t ranks_per_node = 1;  // at least 1
  // Number of equal NICs of a node, which its ranks share for transfers to other nodes. 0: one NIC for every rank.
  std::int64_t nics = 1;
};

// The ranks first, first + stride, …: `size` of them. Tensor-parallel groups are neighbours (stride 1). The ranks of a
// data-parallel group are as far apart as a replica has ranks.
struct Group {
  std::int64_t size = 1;
  std::int64_t stride = 1;
  std::int64_t first = 0;

  std::int64_t ranks_on_a_node(const Network&) const;  // on the node that holds most of them
  std::int64_t nodes(const Network&) const;
};

// All other groups of the same shape do the same at the same time on the other ranks of the nodes, and their transfers
// share the NICs. A ring passes every node once, at the pace of its slowest link. two_level and the trees are as in
// all_reduce.hpp; halving_doubling and double_binary_tree use the link across nodes if the group spans several nodes.
// Throws std::invalid_argument for a size, stride, number of ranks or of NICs below its minimum, or for negative bytes.
Cost all_reduce(const Network&, const Group&, double message_bytes, Algorithm = Algorithm::ring);
Cost reduce_scatter(const Network&, const Group&, double message_bytes);  // rings
Cost all_gather(const Network&, const Group&, double message_bytes);
Cost broadcast(const Network&, const Group&, double message_bytes);  // binomial tree
// Cost of a message from rank `from` to the rank `distance` further on, while every rank of its node sends over the
// same distance.
Cost send(const Network&, std::int64_t from, std::int64_t distance, double message_bytes);

}  // namespace ddpprof::collective
