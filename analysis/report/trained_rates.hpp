// The learning rate that each measurement trained with, step by step, beside the one that its scenario planned.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "analysis/report/report.hpp"

namespace ddpprof::report {

struct TrainedRates {
  std::string strategy;
  std::int64_t workers = 1, repeat = 0;
  std::int64_t first_step = 0;  // of the training: a resumed one goes on from its checkpoint's steps
  std::int64_t steps = 0;       // with a recorded rate; those without the DDP wrapper are no part of the training
  std::int64_t unlike = 0;      // of them, those where a rank's rate is not the planned one, to the bit
  double first_lr = 0.0, last_lr = 0.0, last_planned_lr = 0.0;
  double largest_difference = 0.0;  // of a rate from the plan, relative to the plan
};

// The planned rate at an optimizer step (from 0) of the training on `workers` workers.
using PlannedRate = std::function<double(std::int64_t workers, std::int64_t step)>;

// One for each measurement with recorded rates, in the order of their ids. Throws store::DatabaseError and what
// `planned` throws.
std::vector<TrainedRates> trained_rates(store::Database&, const PlannedRate& planned);

// `plan`: in words, what was planned.
Table trained_rates_table(const std::vector<TrainedRates>&, const std::string& plan);

}  // namespace ddpprof::report
