// Predictions from a table of step times by ranks, nodes and batch, without any trace.
//
// For measurements that come as a table: another cluster's, a paper's, a job's own log. A table with several batches
// and several placements on several nodes determines a physical model (placement_model.hpp). Any other table is carried
// on by the growth that published tables show (scaling_series.hpp).
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "analysis/fit/table/step_row.hpp"

namespace ddpprof::fit {

class Alone;           // alone.hpp
class PlacementModel;  // placement_model.hpp
class ScalingSeries;   // scaling_series.hpp
struct BatchFit;       // batch_fit.hpp

class StepTable {
 public:
  // Throws NotSupported if the rows do not support a fit: no rows, one number of ranks, a time that is not above 0, a
  // model that cannot be fitted.
  explicit StepTable(std::vector<StepRow> rows, const TableOptions& options = {});

  // `asked.step_s` is ignored. Throws NotSupported if the measured data do not support the question: another batch if
  // one batch was measured, a batch outside those of one worker if these contradict each other.
  TablePrediction predict(const StepRow& asked) const;

  const BatchFit& batch_law() const;                                      // of the rows of one worker
  const PlacementModel* placement_model() const;                          // null if the table is carried on as a series
  const std::vector<std::string>& warnings() const { return warnings_; }  // doubtful.hpp
  std::string method() const;                                             // one sentence: how the table is carried on

  ~StepTable();
  StepTable(StepTable&&) noexcept;

 private:
  void check(const StepRow& asked) const;

  TableOptions options_;
  std::vector<std::string> warnings_;
  std::shared_ptr<Alone> alone_;
  std::unique_ptr<PlacementModel> placements_;
  std::unique_ptr<ScalingSeries> series_;
  std::set<std::int64_t> batches_;
  std::int64_t largest_ = 1;
};

}  // namespace ddpprof::fit
