// A kernel of one or both files, and the change of its time per step. Internal to this folder.
#pragma once

#include <optional>
#include <string>

#include "analysis/report/tables/compare/compare_parts.hpp"

namespace ddpprof::report {

// Share of A's step: kernels below it in both files share one row.
inline constexpr double shown_kernel_of_step = 0.001;

struct KernelSide {
  double step_s = 0;             // per rank: median over the measured steps, or mean if most steps of a file lack it
  double mean_s = 0;             // mean per rank and step
  double calls = 0;              // mean per rank and step
  std::optional<double> call_s;  // mean duration; empty without calls
};

struct KernelDifference {
  const Pair* pair = nullptr;
  std::string kind, name, shape;  // "old → new" if two kernels are treated as one
  std::string change;             // only in A, only in B, renamed?, other shape?, more calls, slower calls, …; or ""
  KernelSide a, b;
  bool totals = false;                   // true: totals of whole traces
  std::optional<stats::Interval> ratio;  // of the time per step: B / A
  std::string verdict, why;

  double of_step() const;  // (B − A) / A's step, with means
};

}  // namespace ddpprof::report
