// What one worker takes for one micro-batch, from a table's rows of one worker.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "analysis/fit/batch_fit.hpp"
#include "analysis/fit/table/step_table.hpp"
#include "simulator/stats/random.hpp"

namespace ddpprof::fit {

// Between two measured batches a line; beyond them the fitted law of compute over the batch, from the last one on.
class Alone {
 public:
  explicit Alone(const std::vector<StepRow>&);

  bool empty() const { return medians_.empty(); }
  std::size_t batches() const { return medians_.size(); }
  void clear();
  const BatchFit& law() const { return law_; }
  // Outside of the batches that were measured at one worker, of two and more.
  bool beyond(std::int64_t batch) const;

  double compute_s(std::int64_t batch) const;
  // Compute as the law may also have it, over compute_s; 1 between the measured batches and where no law was fitted.
  double drawn_factor(std::int64_t batch, stats::Random&) const;

 private:
  std::int64_t nearest_end(std::int64_t batch) const;

  std::vector<std::pair<std::int64_t, double>> medians_;  // batch, time; ascending
  BatchFit law_;
};

}  // namespace ddpprof::fit
