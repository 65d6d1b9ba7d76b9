// The cost of an all-reduce as a function of N and bytes, fitted to measured collectives.
//
// The forms are those of all_reduce_form.hpp. In a ring, beta and gamma have proportional coefficients at every N and
// S. So gamma is folded into beta, and the sum beta + gamma/2 is fitted.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/fit/all_reduce_form.hpp"
#include "analysis/fit/given_curves.hpp"
#include "analysis/fit/least_squares.hpp"
#include "analysis/fit/measured/measured.hpp"
#include "simulator/collective/all_reduce.hpp"
#include "simulator/collective/curve.hpp"
#include "tracer/store/rows/result_rows.hpp"

namespace ddpprof::fit {

struct FormFit {
  Form form;
  Problem problem;
  Solution solution;
  std::optional<double> held_out_error;  // median relative error at the largest N, fitted on the smaller ones
  // Relative error per doubling of N beyond the measured data: the held-out error if there is one, otherwise the error
  // of the fit. For regimes without a held-out error: the larger of the fit's error and the error of the other forms,
  // because regimes have enough factors to fit any points.
  double beyond_error = 0.0;
  double score = 0.0;   // held-out error, or the fit's error if no N can be held out
  double weight = 0.0;  // share of the Monte Carlo draws

  // Time of one hop of a small message, and of one byte, over a link. 0 if a measured curve does not show it.
  double hop_s(std::span<const double> values, const Machine&) const;
  double byte_s(std::span<const double> values, const Machine&) const;
  // Cost of one all-reduce of a training step, including the factor between a step and bench-comm.
  collective::Cost cost(const Machine&, std::int64_t bytes, std::span<const double> values) const;
  // Cost of one all-reduce alone on the link and without compute beside it, in bench-comm or in a training step.
  collective::Cost alone(const Machine&, std::int64_t bytes, std::span<const double> values, bool bench) const;
  // Returns the link of an all-reduce in a training step, as ranks that share cores find it. Its latency and bandwidth
  // are multiplied by the factors.
  collective::Link step_link(const Machine&, std::span<const double> values, double latency_factor = 1.0,
                             double bandwidth_factor = 1.0) const;
  // Returns how much longer a hop takes beside compute, in seconds; 0 if processors of its own carry the hop.
  double turn_s(std::span<const double> values, const Machine&) const;
};

struct AllReduceFit {
  bool usable = false;
  std::string status;                 // picked form and reason; why it is not usable; assumptions
  std::vector<FormFit> forms;         // picked form first
  std::vector<std::string> notes;     // assumptions to show to the user
  std::vector<std::string> warnings;  // usable, but unreliable
  std::vector<CollectivePoint> points;

  const FormFit& picked() const { return forms.front(); }
  // Returns true for curves of which one has an unknown number of hosts.
  bool has_unknown_hosts() const;
};

// If curves are given, they are the form, and the points show how a step's all-reduces differ from them. `job`: sizes
// of the messages that are predicted from the curves. Throws std::invalid_argument for a curve of one rank.
AllReduceFit fit_all_reduce(const std::vector<CollectivePoint>&, const std::vector<collective::Curve>& curves = {},
                            const MessageSizes& job = {});

store::FitRow to_row(const AllReduceFit&);

}  // namespace ddpprof::fit
