// Imports files of every kind into one database, with fits and predictions: what `ddpprof import` and the window do.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/import/files/input_files.hpp"
#include "analysis/import/load/import.hpp"
#include "analysis/predict/predict.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof::import {

struct FilesImport {
  ImportResult traces;
  std::int64_t sweeps = 0;                      // of collectives, from logs
  std::int64_t step_times = 0, placements = 0;  // of a table
  std::vector<std::string> warnings;            // about logs
};

// Fills a database without measurements, or adds traces and logs to one with them. `options.files` is not used.
// `log_ranks`: for logs that do not contain the number of ranks. Throws UnusableInput, ImportError, OpenError,
// ImportStopped, TableError, LogError, fit::NcclTestsError, fit::CsvError, store::DatabaseError.
FilesImport import_files(store::Database&, const InputFiles&, ImportOptions options,
                         std::optional<std::int64_t> log_ranks);

struct FittedImports {
  std::string no_prediction;                  // why nothing is predicted; empty: something is
  std::shared_ptr<const fit::Models> models;  // that the predictions are of; may be null
};

// Fits and predicts from the imports of the database, in place of earlier fits and predictions. The reason why nothing is
// predicted is also a diagnostic of the database. Without `asked` the imported N and multiples of the largest are
// predicted.
FittedImports fit_imports(store::Database&, const std::optional<fit::PredictOptions>& asked = {});

// Returns the report that shows the import in full: imported, predictions or comm.
const char* report_of(const InputFiles&);

}  // namespace ddpprof::import
