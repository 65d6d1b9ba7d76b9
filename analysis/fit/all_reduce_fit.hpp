// The all-reduce's cost as a function of N and bytes, fitted to measured collectives.
//
// Forms: `ring` (2(N-1) alpha + 2(N-1)/N S beta) and `gloo-segmented-ring` (simulator/collective), alone on the link or
// over one host's loopback, where the ranks' own cores carry the bytes and r ranks share c of them:
// - `-time-shared`: a step waits for its neighbour to be given a core, alpha + switch (r/c - 1)^k, and bytes take
//   (1 + (u r/c)^4)^(1/4) times as long, a smooth max(1, u r/c) with u how much of a core one rank keeps busy
//   (docs/design/ranks-that-share-cores.md has what was measured);
// - `-shared-cores`: every term times max(1, r/c).
// Or `measured-curve`: what nccl-tests measured elsewhere, by size, carried to other N as a ring; alpha and beta are
// factors then.
// In a ring beta and gamma have proportional coefficients at every N and S, so gamma is folded into beta: their sum
// beta + gamma/2 is what is fitted.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/fit/least_squares.hpp"
#include "analysis/fit/measured.hpp"
#include "analysis/fit/what_if.hpp"
#include "simulator/collective/all_reduce.hpp"
#include "simulator/collective/curve.hpp"
#include "tracer/store/result_rows.hpp"

namespace ddpprof::fit {

enum class HostSharing { none, proportional, time_shared };

// What ranks on one host do to each other's collectives; only a time-shared form reads the last three.
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

  std::string name() const;
  // What alpha and beta are counted in: 1, or of a curve what a small message's hop and a large one's byte take.
  double hop_unit_s(std::int64_t workers) const;
  double byte_unit_s(std::int64_t workers) const;
  // The link as ranks that share cores find it.
  collective::Link shared(const collective::Link&, const Crowd&) const;
  collective::Hops hops(std::int64_t workers, std::int64_t bytes) const;
  collective::Cost over(std::int64_t workers, std::int64_t bytes, const collective::Link& shared) const;
  // Of one all-reduce alone on the link.
  collective::Cost cost(std::int64_t workers, std::int64_t bytes, const collective::Link&, const Crowd&) const;
};

double ranks_per_core(const Machine&);  // of one host

struct FormFit {
  Form form;
  Problem problem;
  Solution solution;
  std::optional<double> held_out_error;  // median relative error at the largest N, fitted on the smaller ones
  double score = 0.0;                    // held-out error, or the fit's own where nothing can be held out
  double weight = 0.0;                   // share of the Monte Carlo draws

  // Of a link: one hop of a small message, and one byte. 0 where a measured curve does not tell.
  double hop_s(std::span<const double> values, std::int64_t workers) const;
  double byte_s(std::span<const double> values, std::int64_t workers) const;
  // Of one all-reduce of a training step, which the fit may have told from bench-comm's.
  collective::Cost cost(const Machine&, std::int64_t bytes, std::span<const double> values) const;
  // The link such a one finds under a change, as ranks that share cores do; its terms that are free are 0.
  collective::Link step_link(const Machine&, std::span<const double> values, const WhatIf&) const;
  // What a hop waits in addition beside compute; 0 where processors of its own carry it, or latency is free.
  double turn_s(std::span<const double> values, const WhatIf&) const;
};

struct AllReduceFit {
  bool usable = false;
  std::string status;                 // picked form and why; why it is not usable; what was assumed
  std::vector<FormFit> forms;         // picked form first
  std::vector<std::string> notes;     // assumptions a user should hear of
  std::vector<std::string> warnings;  // usable, but not to be trusted far
  std::vector<CollectivePoint> points;

  const FormFit& picked() const { return forms.front(); }
};

// Where curves are given they are the form, and the points tell how a step's all-reduces differ from them. Throws
// std::invalid_argument for a curve of one rank.
AllReduceFit fit_all_reduce(const std::vector<CollectivePoint>&, const std::vector<collective::Curve>& curves = {});

store::FitRow to_row(const AllReduceFit&);

// JSON texts of the fit table from a solution.
std::string parameters_json(const Problem&, const Solution&);
std::string covariance_json(const Solution&);

}  // namespace ddpprof::fit
