#include "analysis/fit/table/step_table.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <stdexcept>

#include "analysis/fit/not_supported.hpp"
#include "analysis/fit/table/alone.hpp"
#include "analysis/fit/table/doubtful.hpp"
#include "analysis/fit/table/placement_model.hpp"
#include "analysis/fit/table/scaling_series.hpp"
#include "analysis/fit/text.hpp"

namespace ddpprof::fit {
namespace {

void refuse(const std::string& reason, const std::string& advice) { throw NotSupported(reason, advice); }

}  // namespace

StepTable::StepTable(std::vector<StepRow> rows, const TableOptions& options)
    : options_(options), alone_(std::make_shared<Alone>(rows)) {
  std::set<std::int64_t> counts;
  for (const StepRow& row : rows) {
    if (!(row.step_s > 0.0) || !std::isfinite(row.step_s))
      refuse("a step time of " + number_text(row.step_s) + " s", "a step takes more than 0 s");
    if (row.workers < 1 || row.nodes < 1 || row.nodes > row.workers || row.batch_per_worker < 1 || row.accumulation < 1)
      refuse("a row has " + std::to_string(row.workers) + " workers on " + std::to_string(row.nodes) + " nodes, " +
                 std::to_string(row.accumulation) + " micro-batches per step and " +
                 std::to_string(row.batch_per_worker) + " samples per micro-batch",
             "every number must be at least 1, and every node needs a worker");
    counts.insert(row.workers);
    batches_.insert(row.batch_per_worker);
    largest_ = std::max(largest_, row.workers);
  }
  if (counts.size() < 2)
    refuse(counts.empty()
               ? "no step time was given"
               : "all steps were measured at " + std::to_string(largest_) + (largest_ == 1 ? " worker" : " workers") +
                     ", and one worker count does not show how a step grows",
           "measure at two or more worker counts, best at 1 worker and at 2 and more");
  warnings_ = table_doubts(rows);
  // One worker was measured with one batch, and other rows have other batches: the line has to come from all rows.
  const bool many = PlacementModel::fits(rows);
  if (many && alone_->batches() == 1) alone_->clear();
  if (many) {
    try {
      placements_ = std::make_unique<PlacementModel>(rows, alone_, options_);
      if (const std::string doubt = placements_->doubt(); !doubt.empty()) warnings_.push_back(doubt);
      return;
    } catch (const NotSupported& error) {
      alone_ = std::make_shared<Alone>(rows);
      warnings_.push_back(error.reason() + "; the table is continued as published tables grow");
    }
  }
  series_ = std::make_unique<ScalingSeries>(rows, alone_, options_.constants);
}

StepTable::~StepTable() = default;
StepTable::StepTable(StepTable&&) noexcept = default;

const BatchFit& StepTable::batch_law() const { return alone_->law(); }

const PlacementModel* StepTable::placement_model() const { return placements_.get(); }

std::string StepTable::method() const {
  if (placements_) return "A physical model, fitted to the batches and placements of this table.";
  return "Beyond the largest measured N, the step grows as published tables do.";
}

void StepTable::check(const StepRow& asked) const {
  if (asked.workers < 1 || asked.nodes < 1 || asked.nodes > asked.workers || asked.batch_per_worker < 1 ||
      asked.accumulation < 1)
    throw std::invalid_argument("step table: cannot predict " + std::to_string(asked.workers) + " workers on " +
                                std::to_string(asked.nodes) + " nodes, " + std::to_string(asked.accumulation) +
                                " micro-batches per step and " + std::to_string(asked.batch_per_worker) +
                                " samples per micro-batch: every number must be at least 1, and every node needs a "
                                "worker");
  if (batches_.size() == 1 && *batches_.begin() != asked.batch_per_worker)
    refuse("only a batch of " + std::to_string(*batches_.begin()) + " per worker was measured",
           "measure a second batch, best at one worker, to predict " + std::to_string(asked.batch_per_worker) +
               ", or give --batch-per-worker " + std::to_string(*batches_.begin()));
  if (alone_->beyond(asked.batch_per_worker) && alone_->law().refused())
    refuse("a batch of " + std::to_string(asked.batch_per_worker) +
               " is outside the batches measured at one worker, and their law is " + alone_->law().status,
           "measure these batches again, or predict a batch between them");
}

TablePrediction StepTable::predict(const StepRow& asked) const {
  check(asked);
  TablePrediction prediction = placements_ ? placements_->predict(asked) : series_->predict(asked, options_);
  const auto batch = static_cast<double>(asked.batch_per_worker);
  const double batch_doublings = std::max(std::log2(batch / static_cast<double>(*batches_.rbegin())),
                                          std::log2(static_cast<double>(*batches_.begin()) / batch));
  if (asked.workers > 4 * largest_)
    prediction.add_note("far beyond the largest measured N = " + std::to_string(largest_));
  if (batch_doublings > 1.0) prediction.add_note("the batch is far from the measured batches");
  if (alone_->beyond(asked.batch_per_worker) && alone_->law().usable)
    prediction.add_note("compute of this batch: " + alone_->law().status);
  return prediction;
}

}  // namespace ddpprof::fit
