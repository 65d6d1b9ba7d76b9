// Predicts from a table with few placements: measured step times by number of ranks, carried on by the learned growth.
//
// Between measured numbers of ranks ln(step) is linear in log2(N). Beyond them growth.hpp applies. All times are those
// of a micro-batch. A batch that was not measured at this N changes the step by the change of compute, which is
// interpolated between the batches of one rank, or else is a line in the batch through all rows.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "analysis/fit/table/alone.hpp"
#include "analysis/fit/table/growth.hpp"
#include "analysis/fit/table/step_row.hpp"

namespace ddpprof::fit {

class ScalingSeries {
 public:
  // `rows` must be valid rows of at least two numbers of ranks (StepTable checks them).
  ScalingSeries(const std::vector<StepRow>& rows, std::shared_ptr<const Alone> alone, const TableConstants&);

  TablePrediction predict(const StepRow& asked, const TableOptions&) const;

  // What growth.hpp is asked, and the time of a micro-batch that it applies to.
  struct Carried {
    GrowthQuestion question;
    double base_s = 0.0, sync_share = -1.0;
    std::int64_t base_nodes = 1;
  };
  Carried carry(const StepRow& asked) const;

  // Time of a micro-batch on one rank; without rows of one rank, by the line. NaN with one batch and no row of one
  // rank.
  double compute_s(std::int64_t batch) const;

 private:
  struct Point {  // the median of equal rows
    StepRow row;
    double micro_s = 0.0, sync_share = -1.0;
  };
  struct Value {  // a measured number of ranks, brought to the batch and accumulation asked about
    double micro_s = 0.0, sync_share = -1.0;
    std::int64_t nodes = 1;
    bool other_batch = false;
  };
  using Curve = std::map<std::int64_t, Value>;  // by number of ranks

  Curve curve(const StepRow& asked, bool several_nodes) const;
  Value value_of(const Point&, const StepRow& asked) const;
  std::pair<double, double> batch_spread(std::int64_t batch, const TableOptions&) const;
  void fit_line();

  std::shared_ptr<const Alone> alone_;
  TableConstants constants_;
  std::vector<Point> points_;
  double scatter_ = 0.0;                   // standard deviation of ln(step) of equal rows; 0 without repeats
  double fixed_s_ = 0.0, sample_s_ = 0.0;  // the line
  bool line_ = false, one_accumulation_ = true, batch_follows_ranks_ = false;
};

}  // namespace ddpprof::fit
