// Finds each step's phases from the host's marks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/import/trace/rank_trace.hpp"

namespace ddpprof::import {

// The phases of one micro-batch.
struct Pass {
  Span forward, backward;
};

// All times are host times.
struct HostStep {
  std::int64_t number = 0;
  std::string name;
  Span time;
  std::vector<Pass> passes;  // in order; empty without autograd's marks
  std::vector<Span> optimizers, data_waits;

  bool backward_is_whole = false;  // true if backward lasts until all gradients are reduced and copied

  bool has_backward() const { return !passes.empty(); }
  // The gradients' collectives are launched between the start of the last backward and this time.
  std::int64_t collectives_until_ns() const;
};

// Returns true if the optimizer's step runs the backward: Optimizer.step(closure).
bool runs_inside(const Span& optimizer, const Span& backward);

// The marks by which steps were found.
enum class StepSource { none, annotations, optimizers, forwards };

struct HostSteps {
  StepSource source = StepSource::none;
  std::vector<HostStep> steps;          // in order, not overlapping
  std::int64_t left_out = 0;            // marks that overlap the mark before
  std::int64_t cut = 0;                 // steps left out because recording began or stopped in them
  bool cycle_unfinished = false;        // the training ended inside a cycle of the profiler's schedule
  std::int64_t micro_batches = 1;       // annotated steps of a step: above 1 if each micro-batch was annotated
  std::int64_t optimizers_in_turn = 1;  // optimizer steps of a step that is bounded by them
  // Unannotated: the optimizers of models of several sizes step in no order that repeats. Annotated: steps with gradients
  // of several sizes.
  bool optimizers_mixed = false;
};

// Consumes the rank's marks. The gradients must be ordered by time and the sorters finished.
HostSteps find_steps(RankTrace&);

// Returns the number of groups of backwards that an optimizer's step follows: 1 with gradient accumulation, 2 if two
// optimizers update two networks in turn, each after its own backward. At least 1.
std::int64_t updates_of(const HostStep&);

// Returns the number of backwards that evaluate again what one before has evaluated: Optimizer.step(closure) of LBFGS
// calls its closure several times with the same samples.
std::int64_t evaluations_again(const HostStep&);

// The most frequent number of backwards per step, among steps with a backward (ties go to the larger number; 1 without
// a backward), the number of steps with another number, and the most frequent updates_of() and evaluations_again() of
// the usual steps.
struct UsualPasses {
  std::int64_t count = 1, other_steps = 0, updates = 1, again = 0;
  // Micro-batches whose gradients one update sums.
  std::int64_t accumulation() const {
    const std::int64_t different = count - again;
    return different % updates == 0 ? different / updates : different;
  }
};
UsualPasses usual_passes(const std::vector<const HostStep*>&);

}  // namespace ddpprof::import
