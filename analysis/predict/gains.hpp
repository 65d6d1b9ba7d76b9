// How much shorter a step would be if one of its terms took no time.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "analysis/predict/step_model/what_if.hpp"

namespace ddpprof::fit {

class Predictor;

struct TermGain {
  Term term = Term::compute;
  double share = 0.0;  // of the step, 0 to 1
};

// Returns the gain of each term, under a change or none, in the order of Term.
std::vector<TermGain> gains(const Predictor&, std::int64_t workers, const WhatIf& = {});

// Returns the name of the term with the largest gain; "compute" if no term has a gain.
std::string_view binding(const std::vector<TermGain>&);

}  // namespace ddpprof::fit
