// A kernel of both files, or of one, and how much of a step it is that changed. Internal to the report library.
#pragma once

#include <optional>
#include <string>

#include "analysis/report/tables/compare/compare_parts.hpp"

namespace ddpprof::report {

// Of A's step: kernels that take less in both files share a row.
inline constexpr double shown_kernel_of_step = 0.001;

struct KernelSide {
  double step_s = 0;             // of one rank: median over the measured steps; mean where most of a file's lack it
  double mean_s = 0;             // of one rank a step
  double calls = 0;              // of one rank a step: mean
  std::optional<double> call_s;  // mean duration; none where it was never called
};

struct KernelDifference {
  const Pair* pair = nullptr;
  std::string kind, name, shape;  // "old → new" where two were taken for one
  std::string change;             // only in A, only in B, renamed?, other shape?, more calls, slower calls, …; or ""
  KernelSide a, b;
  bool totals = false;                   // of whole traces
  std::optional<stats::Interval> ratio;  // of the time a step: B / A
  std::string verdict, why;

  double of_step() const;  // means' (B − A) / A's step
};

}  // namespace ddpprof::report
