// Bandwidth of all-reduces over the links between nodes: the range of usual links, or of a link that a user names.
//
// A node is one host. A range has two ends, because an all-reduce reaches a share of a link's rate that is not known
// beforehand. The sources of the shares are beside the constants in node_links.cpp.
#pragma once

#include <string>
#include <string_view>

namespace ddpprof::collective {

// Bandwidth of all-reduces over all links of one node together, in one direction.
struct NodeLinks {
  std::string text;  // as parsed
  std::string name;  // for messages, for example "100Gbit/s per node"
  double least_bytes_per_s = 0.0, most_bytes_per_s = 0.0;

  bool named() const { return text != usual; }
  static constexpr std::string_view usual = "usual";
};

// Returns the range from 25 Gbit/s Ethernet to 8 × 400 Gbit/s InfiniBand per node.
NodeLinks usual_node_links();

// Reads "usual" or "[COUNTx]LINK": COUNT links per node (1 if it is missing), LINK an Ethernet rate such as 100Gbit/s
// or 12.5GB/s, or InfiniBand: fdr, edr, hdr, ndr, xdr. Throws std::invalid_argument with the expected value.
NodeLinks parse_node_links(std::string_view text);
inline constexpr std::string_view node_links_example = "25Gbit/s, 100Gbit/s, hdr or 8xndr";

// The time of a small message from one node to the next, in addition to a hop inside a node: fast and slow.
// Fast: NCCL's constants for a network are 2.7 to 14 µs (src/graph/tuning.cc). Slow: an all-reduce of 1 MiB takes 0.38
// ms between four B200 nodes with EFA (stas00/ml-engineering), a tree with four hops between nodes; one of 8 bytes
// takes 0.16 ms between two A100 nodes (awsome-distributed-training), with two.
inline constexpr double fast_node_hop_s = 5e-6, slow_node_hop_s = 100e-6;

// The fastest usual links inside a node: NVLink 5 has 900 GB/s in each direction, of which eight B200 reach 838 GB/s of
// bus bandwidth (stas00/ml-engineering, network/README.md).
inline constexpr double fast_inside_bytes_per_s = 900e9, fast_inside_hop_s = 1e-6;

}  // namespace ddpprof::collective
