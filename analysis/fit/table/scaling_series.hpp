// Predicts from a table with few placements: measured step times by number of ranks, continued by the learned growth.
//
// Between measured numbers of ranks ln(step) is linear in log2(N) on several nodes, and in the part (N-1)/N of its
// bytes that a ring sends on one node. Beyond them growth.hpp applies, which has the uncertainty of all of them.
// measured_curve.hpp brings the measurements to the batch and accumulation of the question.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/fit/table/growth.hpp"
#include "analysis/fit/table/measured_curve.hpp"
#include "analysis/fit/table/step_row.hpp"

namespace ddpprof::fit {

class ScalingSeries {
 public:
  // `rows` must be valid rows of at least two numbers of ranks (StepTable checks them).
  ScalingSeries(const std::vector<StepRow>& rows, std::shared_ptr<const Alone> alone, const TableConstants&);

  TablePrediction predict(const StepRow& asked, const TableOptions&) const;

  // The measured step that a prediction starts from, and the question to growth.hpp.
  struct Start {
    GrowthQuestion question;
    MeasuredStep step;
    std::int64_t fewest_workers = 1;  // the fewest measured ranks, on one node if any were measured there
    double fewest_micro_s = 0.0;      // their time of a micro-batch
    bool fewest_by_line = false;
    double continued_s = 0.0;  // the interval contains this time of a micro-batch
    std::vector<std::string> notes;
  };
  Start start_of(const StepRow& asked) const;

 private:
  std::shared_ptr<const MeasuredCurve> curve_of(const StepRow& asked, bool several_nodes) const;
  Start on_one_node(const StepRow& asked, const MeasuredCurve& one_node, const MeasuredCurve& several) const;
  Start on_several_nodes(const StepRow& asked, const MeasuredCurve& one_node, const MeasuredCurve& several) const;
  void consider_last_step(Start&, const StepRow& asked, const MeasuredCurve&, const MeasuredStep& reference) const;
  void consider_full_node(Start&, const StepRow& asked, const MeasuredCurve& one_node) const;
  void consider_other_nodes(Start&, const StepRow& asked, const MeasuredCurve& one_node) const;
  void consider_two_nodes(Start&, const StepRow& asked) const;
  double one_node_s(const MeasuredCurve& one_node, std::int64_t ranks) const;  // of a micro-batch
  std::vector<StepRow> other_placements(const StepRow& asked, const Start&) const;
  void consider_contradictions(Start&, const MeasuredCurve&) const;
  static double exposed_by_batch_s(const Start&, const StepRow& asked);  // of a step
  TablePrediction continued(const Start&, const StepRow& asked, const TableOptions&) const;
  Growth growth_with_noise(const GrowthQuestion&, bool several_nodes, double confidence) const;
  std::pair<double, double> batch_spread(const MeasuredStep&, std::int64_t batch, const TableOptions&) const;

  std::shared_ptr<const Alone> alone_;
  TableConstants constants_;
  MeasuredCurves measured_;
  // The latest curves by all that they depend on: questions often differ in N alone, and a long table has a long curve.
  using CurveKey = std::tuple<bool, bool, bool, std::int64_t, std::int64_t, std::int64_t>;
  mutable std::mutex curves_mutex_;
  mutable std::map<CurveKey, std::shared_ptr<const MeasuredCurve>> curves_;
};

}  // namespace ddpprof::fit
