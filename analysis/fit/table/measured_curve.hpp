// Measured step times by number of ranks, brought to the batch and the accumulation that a question asks about.
//
// All times are those of a micro-batch. A batch that was not measured at some N changes its step by the change of
// compute: interpolated between the batches of one rank, or else a line in the batch through all rows. Accumulation
// changes the exposed communication of a micro-batch, because a step has it once.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "analysis/fit/table/alone.hpp"
#include "analysis/fit/table/row_noise.hpp"
#include "analysis/fit/table/step_row.hpp"

namespace ddpprof::fit {

// Share of compute that is backward, behind which communication is hidden: forward : backward = 1 : 2.
inline constexpr double backward_share = 2.0 / 3.0;

struct MeasuredStep {
  double micro_s = 0.0;
  double low_s = 0.0, high_s = 0.0;  // what the conversions leave open; equal to micro_s without one
  double sync_share = -1.0;          // of the step; below 0: unknown
  std::int64_t nodes = 1, devices = 1;
  bool other_batch = false;     // converted from another batch
  bool other_accumulation = false;
  bool by_line = false;         // with the line through all rows
  double own_step_s = 0.0;      // of a whole step with the measured batch and accumulation
  double proportional_s = 0.0;  // of a micro-batch, from the measured one in proportion to the batch
  // With the line: the backward of a micro-batch, behind which communication is hidden, with the measured batch and with
  // that of the question.
  double measured_backward_s = 0.0, backward_s = 0.0;
};

using MeasuredCurve = std::map<std::int64_t, MeasuredStep>;  // by number of ranks

double log2_ratio(std::int64_t to, std::int64_t from);  // log2(to / from)

class MeasuredCurves {
 public:
  // `rows` must be valid rows of at least two numbers of ranks (StepTable checks them).
  MeasuredCurves(const std::vector<StepRow>& rows, std::shared_ptr<const Alone> alone);

  // For each measured number of ranks, on one node or on several, the measurement that is nearest to the question: in
  // its nodes (two nodes are a special case of collective libraries), its devices per node, its batch, its
  // accumulation.
  MeasuredCurve curve(const StepRow& asked, bool several_nodes) const;

  // Time of a micro-batch on one rank; without rows of one rank, by the line. NaN with one batch and no row of one
  // rank.
  double compute_s(std::int64_t batch) const;

  // Standard deviation of ln(step) between a measured step, which is the median of equal rows, and a further one, by
  // row_noise.hpp: the larger one of equal rows and of rows that leave a smooth curve over N. 0 without either. At most
  // what most_noise_ratio makes at the ends of a 90 % interval.
  double scatter() const { return scatter_; }
  // True if the rows differ by more than noise: some of them are wrong or of another job. low_s and high_s of a step then
  // contain all of its equal rows.
  bool contradict() const { return contradict_; }
  bool has_accumulation(std::int64_t accumulation) const { return accumulations_.contains(accumulation); }
  // Numbers of ranks of the fullest node, of the rows of several nodes.
  const std::set<std::int64_t>& devices_of_nodes() const { return devices_of_nodes_; }
  std::pair<std::int64_t, std::int64_t> batches() const { return batches_; }  // the smallest and the largest

 private:
  struct Point {  // the median of equal rows
    StepRow row;
    double micro_s = 0.0, sync_share = -1.0;
    double least_s = 0.0, most_s = 0.0;  // of the equal rows
  };

  MeasuredStep step_of(const std::vector<const Point*>& same_placement, const StepRow& asked) const;
  bool one_accumulation() const { return accumulations_.size() == 1; }
  void convert_batch(MeasuredStep& step, const StepRow& from, const StepRow& asked) const;
  void convert_accumulation(MeasuredStep& step, const StepRow& from, const StepRow& asked) const;
  double least_compute_s(const StepRow& from) const;
  void fit_line();
  RowNoise noise_of_points() const;

  std::shared_ptr<const Alone> alone_;
  std::vector<Point> points_;
  double scatter_ = 0.0;
  bool contradict_ = false;
  double fixed_s_ = 0.0, sample_s_ = 0.0;  // the line
  bool line_ = false;
  std::set<std::int64_t> accumulations_, devices_of_nodes_;
  std::pair<std::int64_t, std::int64_t> batches_;
};

}  // namespace ddpprof::fit
