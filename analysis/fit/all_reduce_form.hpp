// The possible forms of an all-reduce's cost, and the effect of ranks that share a host.
//
// `ring` (2(N-1) alpha + 2(N-1)/N S beta) and `gloo-segmented-ring` (simulator/collective), alone on the link or
// over one host's loopback, where the ranks' own cores carry the bytes and r ranks share c of them:
// - `-time-shared`: a step waits for its neighbour to be given a core, alpha + switch (r/c - 1)^k, and bytes take
//   (1 + (u r/c)^4)^(1/4) times as long, a smooth max(1, u r/c) with u how much of a core one rank keeps busy
//   (docs/design/ranks-that-share-cores.md has what was measured);
// - `-shared-cores`: every term times max(1, r/c).
// Or `measured-curve`: what nccl-tests measured elsewhere, by size, carried to other N as a ring; alpha and beta are
// factors then. Or `nccl-regimes`: what each of NCCL's algorithms and protocols was measured to cost (regimes.hpp).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "analysis/fit/measured/measured.hpp"
#include "analysis/fit/regimes.hpp"
#include "simulator/collective/all_reduce.hpp"
#include "simulator/collective/curve.hpp"

namespace ddpprof::fit {

enum class HostSharing { none, proportional, time_shared };

// The effect of ranks on one host on each other's collectives. Only a time-shared form reads the last three fields.
struct Crowd {
  double ranks_per_core = 0.0;
  double switch_s = 0.0;
  double switch_exponent = 1.0;
  double core_share = 1.0;
};

struct Form {
  bool segmented = false;  // Gloo's segmented ring, else the textbook ring
  HostSharing sharing = HostSharing::none;
  std::shared_ptr<const std::vector<collective::Curve>> curves = nullptr;  // of a measured curve, else null
  std::shared_ptr<const Regimes> regimes = nullptr;                        // of NCCL's regimes, else null
  // The form of the job's own all-reduces on one host, if the curves are of hosts and these are not; else null. A log of
  // links between hosts does not change the links inside a host.
  std::shared_ptr<const Form> inside = nullptr;
  // Up to this N all ranks fit on one host: the N of these all-reduces, or the ranks of a host in the curves.
  std::int64_t ranks_inside = 0;

  std::string name() const;
  // Returns true if the curve that is used on this machine was measured across hosts.
  bool across_hosts(const Machine&) const;
  // Returns true if that curve was measured on one host. False if its hosts are unknown.
  bool of_one_host(const Machine&) const;
  // Returns the largest number of ranks on a host of a curve; 0 if no curve has its number of hosts.
  std::int64_t most_ranks_of_a_host() const;
  // Returns true if the ranks of this machine use the job's links inside one host, and the curve is of other links.
  bool inside_host(const Machine&) const;
  // Returns `inside` for such a machine, else this form.
  const Form& used_on(const Machine&) const;
  // Units of alpha and beta: 1, or for a curve the time of a small message's hop and of a large message's byte.
  double hop_unit_s(const Machine&) const;
  double byte_unit_s(const Machine&) const;
  // Returns the link as ranks that share cores see it.
  collective::Link shared(const collective::Link&, const Crowd&) const;
  collective::Hops hops(const Machine&, std::int64_t bytes) const;
  collective::Cost over(const Machine&, std::int64_t bytes, const collective::Link& shared) const;
  // Cost of one all-reduce alone on the link.
  collective::Cost cost(const Machine&, std::int64_t bytes, const collective::Link&, const Crowd&) const;
};

double ranks_per_core(const Machine&);  // of one host

}  // namespace ddpprof::fit
