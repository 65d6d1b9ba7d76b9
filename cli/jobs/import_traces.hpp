// The part of `ddpprof import` that reads other programs' files: traces, tables of step times, logs of nccl-tests.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/predict/predict.hpp"
#include "analysis/report/render/render.hpp"
#include "cli/subcommand.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof::cli {

struct TraceImport {
  std::string subcommand = "import";  // name in messages
  std::vector<std::string> inputs;
  std::string database;
  bool overwrite = false;
  bool append = false;  // to a database that exists
  bool keep_raw = true;
  std::optional<std::int64_t> batch_per_worker, parameter_bytes, nodes, cores, workers;
  std::optional<std::int64_t> log_ranks;  // for logs that do not contain it
  std::string model;
  report::Format format{};
};

// Fits and predicts from the imports of the database, in place of earlier fits and predictions. If the data cannot
// support a prediction, the reason is printed and the measurements stay. `subcommand` is the name in messages.
// The options are those of the scenario that the database stores. Without one, the imported N and multiples of the
// largest are predicted. Returns the models that were fitted; null: none.
std::shared_ptr<const fit::Models> fit_imported(const std::string& subcommand, store::Database&, Context&);

// Imports, fits and prints the report. Throws UserError and store::DatabaseError.
ExitCode import_trace_files(const TraceImport& request, Context& context);

}  // namespace ddpprof::cli
