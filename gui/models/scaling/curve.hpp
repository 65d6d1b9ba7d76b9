// The curves of one strategy over N: the step time at each N, the figures derived from it, and the knees.
//
// The figures are those of fit::Predictor. Speedup is the throughput / the throughput of one worker without a change,
// also for a changed curve, so that curves can be compared. Efficiency is speedup / N: weak scaling, as in the table of
// predictions. The intervals come from the interval of the step at N; the step at N = 1 is taken as exact.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "analysis/predict/predict.hpp"
#include "analysis/predict/predictor.hpp"
#include "gui/models/scaling/measured_points.hpp"

namespace ddpprof::gui::whatif {

struct Figure {
  double value = 0.0, low = 0.0, high = 0.0;
};

struct CurvePoint {
  std::int64_t workers = 1;
  fit::Terms terms;
  Figure step_s, throughput, speedup, efficiency;
  bool far = false;   // N is more than far_beyond times the largest measured N
  bool wide = false;  // fit::is_wide

  // Communication that runs at the same time as compute. Together with exposed communication, skew and the rest of
  // compute it adds up to the step.
  double overlapped_s() const;
};

// `copies`: true for DataParallel, whose waiting is part of the copies and which has no overlap.
StepParts parts(const CurvePoint&, bool copies);

struct Curve {
  std::vector<CurvePoint> points;  // ascending by N; an N without figures is left out
  std::string why_not;             // the reason for the first N that was left out
  const CurvePoint* at(std::int64_t workers) const;
};

inline constexpr double far_beyond =
    4.0;  // times the largest measured N; the same limit as in the notes of predictions

using Estimates = std::map<std::int64_t, fit::StepEstimate>;  // by N

// `measured_accumulation` is used if the samples of a step are unknown: then the ratio of micro-batches gives the
// change of a step's samples.
Curve make_curve(const fit::Predictor&, const Estimates&, const fit::WhatIf&, std::int64_t measured_accumulation);

// Returns the knees of these points only, ascending by share. Shown until fit::knees has its result.
std::vector<fit::Knee> drawn_knees(const Curve&);

}  // namespace ddpprof::gui::whatif
