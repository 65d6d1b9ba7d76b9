// Predicts a collective alone on N ranks from sweeps of nccl-tests with other numbers of ranks.
//
//   t(S) = a + W S / B                 (Hockney), fitted to each sweep by relative least squares
//
// W S are the bytes over the links that limit: on one host those of a rank, over several hosts those that leave a host.
//
//   bytes of a rank      all-reduce 2 (N-1)/N; all-gather, reduce-scatter and all-to-all (N-1)/N
//   bytes of a host      a ring crosses each host boundary once: the same as above; all-to-all g (N-g)/N, g ranks a
//   host B on one host        is that of the nearest number of ranks B of several hosts   is the same for the same g.
//   For another g it is a power of g between 0 (the ranks of a host
//                        share its network cards) and 1 (each rank has its own card), from the two nearest g measured.
//                        A ring also passes the links inside of the host, whose B is known from sweeps on one host.
//                        The two limit together: B = (B_hosts^-p + B_inside^-p)^(-1/p)
//   a                    grows with the hops N - 1 to the power 1 (ring: NCCL has no other algorithm for all-gather and
//                        reduce-scatter) or 1/2 (between a ring and a tree, which NCCL switches between; all-to-all:
//                        all peers at once)
//
// The departure of the sweep from its line (NCCL's switches between protocols) stays the same for each size.
//
// Several runs of the same ranks and hosts are one sweep, the geometric mean at each size. Intervals contain all of
// them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simulator/collective/curve.hpp"

namespace ddpprof::fit {

// One sweep: "all_reduce", "all_gather", "reduce_scatter" or "all_to_all". Bytes are nccl-tests' sizes.
struct CollectiveRun {
  std::string op;
  std::int64_t ranks = 0, hosts = 1;
  std::vector<collective::SizeTime> times;
};

// Returns true for a collective that can be predicted.
bool is_predicted_collective(const std::string& op);

struct CollectiveTime {
  double time_s = 0.0, low_s = 0.0, high_s = 0.0;
};

class CollectiveSeries {
 public:
  // Uses the runs of `op`. Throws NotSupported without such runs.
  CollectiveSeries(const std::string& op, const std::vector<CollectiveRun>& runs);

  // Throws NotSupported if no run measured the links that are asked about (one host, or several), and
  // std::invalid_argument for fewer than two ranks, for more hosts than ranks, or bytes that are not above 0.
  CollectiveTime predict(double bytes, std::int64_t ranks, std::int64_t hosts, double confidence = 0.9) const;

  // The sizes of the sweep that a prediction starts from. Throws as predict does.
  std::vector<double> sizes(std::int64_t ranks, std::int64_t hosts) const;

  // Returns a warning if the sweep that a prediction starts from consists of runs that differ by more than repeats do,
  // otherwise an empty text. Throws as predict does.
  std::string warning(std::int64_t ranks, std::int64_t hosts) const;
  // The warnings of all sweeps.
  std::vector<std::string> warnings() const;

 private:
  struct Sweep {
    std::int64_t ranks = 0, hosts = 1;
    std::vector<collective::SizeTime> times;  // ascending in the bytes, one for each size
    std::vector<double> apart;                // of each size: the distance of the farthest run, in the logarithm
    std::size_t runs = 1;
    double differ = 1.0;  // the largest quotient of two runs' times at one size
    double latency_s = 0.0, s_per_byte = 0.0;

    double per_host() const { return static_cast<double>(ranks) / static_cast<double>(hosts); }
    double departure(double bytes) const;  // measured time over the line's
    double runs_apart(double bytes) const;
    std::string warning(const std::string& op) const;
  };
  struct Bandwidth {  // bytes/s
    double low = 0.0, mid = 0.0, high = 0.0;
  };

  double limiting_bytes(std::int64_t ranks, std::int64_t hosts) const;  // W
  double bandwidth(const Sweep& sweep) const { return limiting_bytes(sweep.ranks, sweep.hosts) / sweep.s_per_byte; }
  const Sweep& nearest(std::int64_t ranks, std::int64_t hosts) const;
  Bandwidth bandwidth_at(const Sweep& from, double per_host) const;
  double inside_bandwidth(double per_host) const;  // 0: not measured

  std::string op_;
  std::vector<Sweep> sweeps_;
};

}  // namespace ddpprof::fit
