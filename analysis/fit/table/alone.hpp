// Time of one worker for one micro-batch, from a table's rows of one worker.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "analysis/fit/batch_fit.hpp"
#include "analysis/fit/table/step_row.hpp"
#include "simulator/stats/random.hpp"

namespace ddpprof::fit {

// Between two measured batches the time is a line. Beyond them it follows the fitted law of compute over the batch.
class Alone {
 public:
  explicit Alone(const std::vector<StepRow>&);

  bool empty() const { return medians_.empty(); }
  std::size_t batches() const { return medians_.size(); }
  void clear();
  const BatchFit& law() const { return law_; }
  // Returns true if the batch is outside the batches measured at one worker, of which there must be at least two.
  bool beyond(std::int64_t batch) const;

  double compute_s(std::int64_t batch) const;
  // Returns a drawn compute time over compute_s: 1 between the measured batches and without a fitted law.
  double drawn_factor(std::int64_t batch, stats::Random&) const;

 private:
  std::int64_t nearest_end(std::int64_t batch) const;

  std::vector<std::pair<std::int64_t, double>> medians_;  // batch, time; ascending
  BatchFit law_;
};

}  // namespace ddpprof::fit
