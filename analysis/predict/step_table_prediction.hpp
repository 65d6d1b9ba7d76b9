// What is asked of a table of step times where nobody says it, and what a table answers for many numbers of workers.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/fit/table/step_table.hpp"
#include "analysis/predict/predict.hpp"
#include "simulator/scaling/efficiency.hpp"

namespace ddpprof::fit {

// All but the number of workers.
struct TableQuestion {
  std::int64_t per_node = 0;  // devices of a node; 0: all on one
  std::int64_t batch_per_worker = 1;
  std::int64_t accumulation = 1;  // micro-batches of a step

  StepRow of(std::int64_t workers) const;
};

// As the table itself mostly is: its fullest node's devices, the batch that most rows have (of equals the smallest),
// the micro-batches of its largest N (of several the smallest). `rows` must hold one.
TableQuestion usual_question(const std::vector<StepRow>& rows);

std::int64_t largest_workers(const std::vector<StepRow>& rows);

// As many draws as an interval of that confidence needs.
TableOptions table_options(double confidence);

// Predictions for knees: every N up to 64, beyond it steps of a sixteenth, up to `largest` or to where the table says
// nothing more.
std::vector<scaling::ScalingPoint> scaling_points(const StepTable&, const TableQuestion&, std::int64_t largest);

// predict_all for a database of a table: the options' gpus_per_node of 0 is the fullest node's devices. Throws
// NotSupported where the rows carry no answer or the options ask for a change of what a step is made of.
PredictResult predict_steps(const std::vector<StepRow>& rows, const PredictOptions& options);

}  // namespace ddpprof::fit
