// How compute time grows when ranks share a machine's cores, fitted to the N that were measured.
//
// compute(N) = c * t^-p * min(r, cores / t)^s * max(1, r t / cores)^q with t threads a rank and r ranks on the host: p
// is how well one rank uses more threads (1: perfectly), s how much ranks with cores of their own slow each other
// through memory, caches and clock (0: not at all; held there where threads follow the cores, as p says it all then), q
// how hard oversubscription hits (1: cores are simply divided). On GPUs each rank has its own device: p = s = q = 0.
// Exponents that N = 1, 2, 4 cannot separate keep their prior: p 0.8 ± 0.3, s 0 ± 0.5, q 1.0 ± 0.25. The error of the
// law at the measured ranks per host is interpolated (in the logarithm) between them, so that the model meets every
// measured N. Beyond them the law continues from the last one. The growth with the batch is a fit of its own
// (batch_fit.hpp) and holds at every N.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "analysis/fit/batch_fit.hpp"
#include "analysis/fit/least_squares.hpp"
#include "analysis/fit/measured/measured.hpp"
#include "tracer/store/rows/result_rows.hpp"

namespace ddpprof::fit {

// GPUs of one host, if neither the number nor a measurement of more is given: that of HGX and DGX servers.
inline constexpr std::int64_t usual_gpus_per_node = 8;

struct ComputeFit {
  bool usable = false;
  std::string strategy;
  std::string status;
  std::vector<std::string> notes;
  std::vector<std::int64_t> measured_at;  // N of the points
  Problem problem;
  Solution solution;
  Machine reference;                  // the machine of the largest measured N
  bool threads_follow_cores = false;  // measured threads were max(1, cores / N)
  std::int64_t threads_at_one = 1;
  std::vector<Machine> machines;      // of the points
  double worst_relative_error = 0.0;  // of the law before interpolation
  BatchFit batch;

  // Returns the ranks of a host if their number is not given: as many as were measured, of GPUs on one host at least
  // usual_gpus_per_node.
  std::int64_t usual_ranks_per_host() const;
  // Returns the machine with N ranks: `gpus_per_node` on each of several hosts like the measured one. 0: as many as on
  // each measured host if several were measured; otherwise all on this host, of GPUs at most usual_gpus_per_node or the
  // number that was measured on it.
  Machine machine_for(std::int64_t workers, std::int64_t gpus_per_node) const;
  // Returns a machine on which every rank has the cores of one rank at N = 1.
  Machine dedicated_machine(std::int64_t workers) const;
  // ln compute(machine) is a line in the exponents: the base drops out, as the law is made to meet what was measured.
  struct LogCompute {
    double constant = 0.0, by_threads = 0.0, by_contention = 0.0, by_sharing = 0.0;
    double of(std::span<const double> values) const;
    LogCompute operator-(const LogCompute&) const;
    bool changes() const { return constant != 0.0 || by_threads != 0.0 || by_contention != 0.0 || by_sharing != 0.0; }
  };
  // With the correction of the measured points; without a point, the bare law.
  LogCompute log_compute(const Machine&) const;
  double compute_s(const Machine&, std::span<const double> values) const;
};

// `batches`: Measured's of the strategy; a refusal of their fit leaves that of the threads and cores as it is.
ComputeFit fit_compute(const std::string& strategy, const std::map<std::int64_t, StepProfile>&,
                       const std::vector<BatchPoint>& batches = {});

store::FitRow to_row(const ComputeFit&);

}  // namespace ddpprof::fit
