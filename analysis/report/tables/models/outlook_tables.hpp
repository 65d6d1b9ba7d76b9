// Tables that complete the predictions: the changes that help most, the same job with own cores for every rank, and the
// measurement that would narrow a prediction most.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analysis/predict/predict.hpp"
#include "analysis/predict/standard_changes.hpp"
#include "analysis/report/tables/source.hpp"
#include "tracer/store/rows/result_rows.hpp"

namespace ddpprof::report {

// One row for each change, in the order given.
Table what_helps_table(const std::vector<fit::RankedChange>&, double confidence);

Table dedicated_predictions_table(const std::vector<store::PredictionRow>&);

// The stored diagnostics measure_next.
Table next_measurements_table(const Source&);

// N by strategy.
using WorkersByStrategy = std::map<std::string, std::set<std::int64_t>>;

// Returns the N of the file's stored predictions.
WorkersByStrategy predicted_workers(store::Database&);

// Returns the tables what_helps and dedicated_predictions: the changes at the largest N of each strategy, own cores at
// every N. N that cannot be predicted are left out. `models`: of ddp and dp; null: only changes of sharded trainings.
std::vector<Table> outlook_tables(store::Database&, const std::shared_ptr<const fit::Models>& models,
                                  const WorkersByStrategy&, const fit::PredictOptions&);

}  // namespace ddpprof::report
