// The all-reduce's cost as a function of N and bytes, fitted to measured collectives.
//
// Forms: `ring` (2(N-1) alpha + 2(N-1)/N S beta), `gloo-segmented-ring` (simulator/collective), each also with
// `-shared-cores`: every term times ranks per host over cores (at least 1), because over one host's loopback the ranks'
// own cores carry the bytes. In a ring beta and gamma have proportional coefficients at every N and S, so gamma is
// folded into beta: their sum beta + gamma/2 is what is fitted.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/fit/least_squares.hpp"
#include "analysis/fit/measured.hpp"
#include "simulator/collective/all_reduce.hpp"
#include "tracer/store/result_rows.hpp"

namespace ddpprof::fit {

struct Form {
  bool segmented = false;  // Gloo's segmented ring, else the textbook ring
  bool shared_cores = false;

  std::string name() const;
  // Of one all-reduce alone on the link. `crowding`: ranks per host over cores, at least 1.
  collective::Cost cost(std::int64_t workers, std::int64_t bytes, const collective::Link&, double crowding) const;
};

// Ranks per host over its cores, at least 1.
double core_crowding(const Machine&);

struct FormFit {
  Form form;
  Problem problem;
  Solution solution;
  std::optional<double> held_out_error;  // median relative error at the largest N, fitted on the smaller ones
  double score = 0.0;                    // held-out error, or the fit's own where nothing can be held out
  double weight = 0.0;                   // share of the Monte Carlo draws

  // Link parameters as a prediction uses them: in a training step, where the fit could tell it from bench-comm.
  collective::Link link(std::span<const double> values) const;
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

AllReduceFit fit_all_reduce(const std::vector<CollectivePoint>&);

store::FitRow to_row(const AllReduceFit&);

// JSON texts of the fit table from a solution.
std::string parameters_json(const Problem&, const Solution&);
std::string covariance_json(const Solution&);

}  // namespace ddpprof::fit
