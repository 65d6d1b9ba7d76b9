// A strategy's figures over N as they are drawn: of each N the step and what follows from it, and where communication
// takes over.
//
// The figures are those of fit::Predictor. Speedup is a throughput over that of one worker without a change, whether
// the curve has one or not, so that curves compare; efficiency is speedup over N: weak scaling, as in the table of
// predictions. The intervals are the step's; N = 1 is taken as known.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "analysis/fit/predictor.hpp"
#include "gui/models/scaling/measured_points.hpp"

namespace ddpprof::gui::whatif {

struct Figure {
  double value = 0.0, low = 0.0, high = 0.0;
};

struct CurvePoint {
  std::int64_t workers = 1;
  fit::Terms terms;
  Figure step_s, throughput, speedup, efficiency;
  bool far = false;   // beyond four times the largest measured N
  bool wide = false;  // fit::Predictor::is_wide

  // Communication in flight while something computes; with exposed, skew and the rest of compute it adds up to the
  // step.
  double overlapped_s() const;
};

// With copies, DataParallel's, waiting is part of them and nothing is beside compute.
StepParts parts(const CurvePoint&, bool copies);

struct Curve {
  std::vector<CurvePoint> points;  // by N; those without figures are left out
  std::string why_not;             // of the first of these
  const CurvePoint* at(std::int64_t workers) const;
};

inline constexpr double far_beyond = 4.0;  // times the largest measured N: as predictions' notes say it

using Outlooks = std::map<std::int64_t, fit::Outlook>;  // by N

// The measured micro-batches of a step say what a change of them does to steps whose samples are not known.
Curve make_curve(const fit::Predictor&, const Outlooks&, const fit::WhatIf&, std::int64_t measured_accumulation);

// Of these points alone, by share in ascending order: a first look, while fit::Predictor::knees is still looking.
std::vector<fit::Knee> drawn_knees(const Curve&);

}  // namespace ddpprof::gui::whatif
