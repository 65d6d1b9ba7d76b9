// Predictions from a table of step times, and the default question of such a table.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/fit/not_supported.hpp"
#include "analysis/fit/table/step_table.hpp"
#include "analysis/predict/predict.hpp"
#include "simulator/scaling/knee.hpp"

namespace ddpprof::fit {

// A question without the number of workers.
struct TableQuestion {
  std::int64_t per_node = 0;  // devices of a node; 0: all on one
  std::int64_t batch_per_worker = 1;
  std::int64_t accumulation = 1;  // micro-batches of a step
  // Above 0: samples of a step of all ranks. Then `accumulation` is the largest one, it falls as N grows beyond what a
  // batch of `batch_per_worker` (if `keeps_batch`), or one sample, leaves for each micro-batch, and the slowest rank has
  // as many samples as any.
  std::int64_t global_batch = 0;
  bool keeps_batch = false;
  std::string strategy = "ddp";

  // Throws NotSupported if the global batch has fewer samples than workers.
  StepRow of(std::int64_t workers) const;
  // Samples of a step of all ranks for `of(workers)`.
  double samples(const StepRow& asked) const;
};

// Returns the usual values of the table: the devices of its fullest node, the batch of most rows (ties: the smallest),
// and the micro-batches of its largest N (ties: the fewest). If the batch per worker or the micro-batches fall as N grows
// and the global batch stays (strong scaling), the question keeps that of the largest N. `rows` must not be empty and
// are of one strategy.
TableQuestion usual_question(const std::vector<StepRow>& rows);

std::int64_t largest_workers(const std::vector<StepRow>& rows);

// Returns the micro-batches of the largest N (ties: the fewest). `rows` must not be empty.
std::int64_t usual_accumulation(const std::vector<StepRow>& rows);

// Returns options with enough draws for an interval of this confidence.
TableOptions table_options(double confidence);

// Returns predictions for knees: every N up to 64, beyond it 16 N for each doubling with the powers of two, and `largest`.
// N that the table does not support are left out. The search of knees.hpp is finer: steps of 1/32, then a bisection.
std::vector<scaling::ScalingPoint> scaling_points(const StepTable&, const TableQuestion&, std::int64_t largest);

// Returns the note that something ("ddp at N = 8") is not predicted, with the reason and the advice of the error.
Note none_predicted(const std::string& what, const NotSupported&);

// Worker counts that are refused, with one note for each reason instead of one for each count.
class RefusedCounts {
 public:
  void add(const std::string& strategy, std::int64_t workers, const NotSupported&);
  std::vector<Note> notes() const;  // in the order of their first counts

 private:
  struct Reason {
    std::string strategy;
    NotSupported error;
    std::vector<std::int64_t> workers;
  };
  std::vector<Reason> reasons_;
};

// Returns one error with the reasons of all notes. `refused` must not be empty.
NotSupported no_strategy_predicted(const std::vector<Note>& refused);

// predict_all for a database of a table, for each of its strategies. gpus_per_node = 0 means the devices of the fullest
// node. Throws NotSupported if the rows do not support an answer, or if the options ask for a change.
PredictResult predict_steps(const std::vector<StepRow>& rows, const PredictOptions& options);

}  // namespace ddpprof::fit
