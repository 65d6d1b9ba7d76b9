// Where each step's phases lie by the host's marks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/import/trace/rank_trace.hpp"

namespace ddpprof::import {

// One micro-batch's.
struct Pass {
  Span forward, backward;
};

// Host times.
struct HostStep {
  std::int64_t number = 0;
  std::string name;
  Span time;
  std::vector<Pass> passes;  // in order; without autograd's marks none
  std::vector<Span> optimizers, data_waits;

  bool has_backward() const { return !passes.empty(); }
  // From the last backward's start on, gradients' collectives are launched; until here.
  std::int64_t collectives_until_ns() const;
};

// How the steps were found.
enum class StepSource { none, annotations, optimizers, forwards };

struct HostSteps {
  StepSource source = StepSource::none;
  std::vector<HostStep> steps;  // in order, none overlapping
  std::int64_t left_out = 0;    // marks that overlap the one before
  std::int64_t cut = 0;         // steps, left out as well, through which recording began or stopped
};

// Takes the rank's marks; its gradients are in order of time, its sorters finished.
HostSteps find_steps(RankTrace&);

// The number of backwards that most steps with any have (of equals the larger), 1 without; and how many steps with any
// have another.
struct UsualPasses {
  std::int64_t count = 1, other_steps = 0;
};
UsualPasses usual_passes(const std::vector<const HostStep*>&);

}  // namespace ddpprof::import
