// DataParallel's copies: replicate and scatter from the root, gather and reduce to it, fitted to their measured phases.
//
// duration = N overhead + (N-1 + own) bytes/N * s/byte: one rate from the root and one towards it (adding gradients
// included); the bytes are all replicas', and `own` is what device 0's copies to itself take of the others'. On a CPU
// all copies are alike (1); on GPUs it stays on the device and is fitted, from an assumed 0.1 within a factor of ten.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "analysis/fit/least_squares.hpp"
#include "analysis/fit/measured/measured.hpp"
#include "simulator/step/data_parallel.hpp"
#include "tracer/store/rows/result_rows.hpp"

namespace ddpprof::fit {

struct CopyFit {
  bool usable = false;
  std::string status;
  std::vector<CopyPoint> points;  // N > 1
  Problem problem;
  Solution solution;
  std::map<std::string, double> bytes_per_replica;  // phase -> bytes of each replica

  // One copy phase: `bytes` are all replicas'.
  static double copy_s(const std::string& phase, std::int64_t replicas, double bytes, std::span<const double> values);
  // The copies of a step with `replicas` replicas; its compute is left 0.
  step::DataParallelStep step_for(std::int64_t replicas, std::span<const double> values) const;
};

CopyFit fit_copies(const std::vector<CopyPoint>&, double parameter_bytes, bool own_devices);

store::FitRow to_row(const CopyFit&);

}  // namespace ddpprof::fit
