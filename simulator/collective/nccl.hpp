// NCCL's own estimate of an all-reduce, by which it chooses its algorithm and protocol.
//
// Follows NCCL 2.30 (src/graph/tuning.cc; earlier versions have other values for Blackwell and for NVLS trees): tables
// by GPU generation give microseconds of latency and GB/s of bandwidth for each algorithm and protocol, and the pair
// with the least time is chosen. This is an estimate by NCCL, not a measurement. A fit of measured sizes follows its
// choice of regimes.
#pragma once

#include <cstdint>
#include <vector>

namespace ddpprof::collective::nccl {

enum class Generation { volta, ampere, hopper, blackwell };  // older GPUs count as volta, as in NCCL
enum class Algorithm { tree, ring, nvls, nvls_tree };
enum class Protocol { ll, ll128, simple };

// The result of NCCL's topology search, assumed equal for every algorithm. Bandwidths are of one channel, in GB/s (1e9
// bytes/s), as NCCL's log prints them with NCCL_DEBUG_SUBSYS=GRAPH.
struct System {
  std::int64_t ranks = 1;
  std::int64_t nodes = 1;
  Generation generation = Generation::ampere;
  bool nvlink = true;  // inside a node; else PCIe
  std::int64_t channels = 1;
  double inside_gb_s = 20.0;  // a channel's, within a node
  double across_gb_s = 20.0;  // a channel's, between nodes
  double network_us = 0.0;    // the network's own latency, as its plugin reports it
  bool amd_cpu = false;       // AMD's figures; else Intel's. x86 is assumed
  bool ll128 = true;          // allowed where every link keeps 128-byte stores whole (NVLink; PCIe up to one switch)
  bool one_tree_pattern = false;  // the search found plain trees only: 0.85 of the tree's bandwidth
  bool nvls = false;              // NVLink switches that reduce (Hopper and later, at least two channels)
};

struct Estimate {
  Algorithm algorithm = Algorithm::ring;
  Protocol protocol = Protocol::simple;
  double latency_s = 0.0;
  double bandwidth_s = 0.0;
  double total_s() const { return latency_s + bandwidth_s; }
};

// Returns every algorithm and protocol that is allowed, in a fixed order; an empty list for one rank. Throws
// std::invalid_argument for an invalid system: ranks not a multiple of nodes, no channel, a bandwidth of 0.
std::vector<Estimate> all_reduce_estimates(const System& system, std::int64_t message_bytes);

}  // namespace ddpprof::collective::nccl
