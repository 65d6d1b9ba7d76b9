// The cost of all-reduces over links between nodes that were not measured (simulator/collective/node_links.hpp), from
// the cost inside a node.
#pragma once

#include <span>

#include "analysis/fit/all_reduce_fit.hpp"
#include "analysis/fit/measured/measured.hpp"
#include "simulator/collective/node_links.hpp"

namespace ddpprof::fit {

using collective::NodeLinks;

// The links of a node as one all-reduce uses them.
struct NodeLink {
  double bytes_per_s = 0.0;
  double hop_s = 0.0;        // of a small message from one node to the next, in addition to a hop inside a node
  bool fewest_hops = false;  // NCCL: inside the nodes, too, only the hops of a tree, if they are fewer than fitted
  // For one node, if only links between nodes were measured (bytes_per_s is 0): how far the links inside are from the
  // measured links (0) towards the fastest usual ones inside a node (1), in the logarithm.
  double towards_fastest = 0.0;
};

// The ends and the geometric middle of a range. At the fast end a node sends 2(n-1)/n of the bytes, which is the least
// that any algorithm needs between n nodes; otherwise the 2(N-1)/N of a ring through all N ranks.
struct NodeLinkRange {
  NodeLink fast, middle, slow;
};
NodeLinkRange range_of(const NodeLinks&, const Machine&);

// From the fastest usual links inside a node to links as slow as those that were measured between nodes.
NodeLinkRange range_inside_node();

// Factors on the latency and the bandwidth of a link inside a node, for all-reduces across nodes.
struct AcrossNodes {
  double latency = 1.0;    // of a hop; below 1 if a tree has fewer hops than the ring that was fitted
  double bandwidth = 1.0;  // at most 1 across nodes: the slower of both links sets the rate of a ring
};

// Adds the hops between nodes to the fitted latency. A ring of N ranks over n nodes crosses between nodes in
// (n-1)/(N-1) of its hops; NCCL uses a tree with 2 log2 n of them if that is faster. `bytes`: of one all-reduce. A fit
// without a hop's time keeps its latency. Needs FormFit::byte_s above 0. For one node the fit is of links between
// nodes: the factors make it faster.
AcrossNodes across_nodes(const FormFit&, std::span<const double> values, const Machine&, const NodeLink&, double bytes);

}  // namespace ddpprof::fit
