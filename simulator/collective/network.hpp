// The links between ranks that sit on nodes, and what a collective of some of them costs there.
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
  // Of a node: its ranks' transfers to other nodes share so many equal NICs. 0: one for every rank.
  std::int64_t nics = 1;
};

// Ranks first, first + stride, …: `size` of them. Tensor-parallel groups are neighbours (stride 1), data-parallel ones
// lie a replica's ranks apart.
struct Group {
  std::int64_t size = 1;
  std::int64_t stride = 1;
  std::int64_t first = 0;

  std::int64_t ranks_on_a_node(const Network&) const;  // on the node that holds most of them
  std::int64_t nodes(const Network&) const;
};

// While all other groups of the same shape do the same on the other ranks of the nodes: their transfers share the NICs.
// A ring passes every node once, over its slowest link; two_level and the trees as in all_reduce.hpp, halving_doubling
// and double_binary_tree on the link across nodes when the group spans several. Throws std::invalid_argument for a
// size, stride, number of ranks or of NICs below its least, or negative bytes.
Cost all_reduce(const Network&, const Group&, double message_bytes, Algorithm = Algorithm::ring);
Cost reduce_scatter(const Network&, const Group&, double message_bytes);  // rings
Cost all_gather(const Network&, const Group&, double message_bytes);
Cost broadcast(const Network&, const Group&, double message_bytes);  // binomial tree
// From rank `from` to the one `distance` further on, while every rank of its node sends as far.
Cost send(const Network&, std::int64_t from, std::int64_t distance, double message_bytes);

}  // namespace ddpprof::collective
