#include "analysis/import/files/import_files.hpp"

#include <SQLiteCpp/Statement.h>

#include <map>
#include <utility>

#include "analysis/fit/nccl_tests/all_reduce_log.hpp"
#include "analysis/fit/table/step_csv.hpp"
#include "analysis/fit/table/stored_steps.hpp"
#include "analysis/import/tables/tables.hpp"
#include "analysis/predict/predict.hpp"
#include "analysis/predict/tables/step_table_prediction.hpp"

namespace ddpprof::import {
namespace {

// Returns the N of a table of step times of which every row has the placement that predictions assume, and a row has
// their batch, and the largest N.
std::vector<std::int64_t> table_workers(const std::vector<fit::StepRow>& all) {
  std::map<std::int64_t, bool> usual;
  for (const auto& [strategy, rows] : fit::by_strategy(all)) {
    const fit::TableQuestion question = fit::usual_question(rows);
    std::map<std::int64_t, bool> same_batch;
    for (const fit::StepRow& row : rows) {
      if (question.global_batch > 0 && row.workers > question.global_batch) continue;
      const fit::StepRow asked = question.of(row.workers);
      const bool placed = row.nodes == asked.nodes && row.devices() == asked.devices();
      usual.try_emplace(row.workers, true).first->second &= placed;
      same_batch[row.workers] |=
          row.batch_per_worker == asked.batch_per_worker && row.accumulation == asked.accumulation;
    }
    for (const auto& [workers, same] : same_batch) usual[workers] = usual[workers] && same;
  }
  std::vector<std::int64_t> workers;
  const std::int64_t largest = fit::largest_workers(all);
  for (const auto& [count, is_usual] : usual)
    if (is_usual || count == largest) workers.push_back(count);
  return workers;
}

// Returns the imported N, and multiples of the largest.
std::vector<std::int64_t> workers_to_predict(store::Database& database) {
  constexpr std::int64_t most_workers = 1'000'000;  // largest N of predictions
  std::vector<std::int64_t> workers;
  SQLite::Statement measured(database.sql(),
                             "SELECT DISTINCT world_size FROM measurement WHERE kind = 'import' AND world_size <= ? "
                             "ORDER BY world_size");
  measured.bind(1, most_workers);
  while (measured.executeStep()) workers.push_back(measured.getColumn(0).getInt64());
  if (workers.empty()) return workers;
  if (const std::vector<fit::StepRow> rows = fit::stored_steps(database); !rows.empty()) workers = table_workers(rows);
  for (std::int64_t next = 2 * workers.back(), doublings = 0; doublings < 5 && next <= most_workers; next *= 2) {
    workers.push_back(next);
    ++doublings;
  }
  return workers;
}

FilesImport import_table(store::Database& into, const std::filesystem::path& file, const ImportOptions& options) {
  for (const auto& [given, option] : {std::pair{options.batch_per_worker, "--batch-per-worker"},
                                      {options.parameter_bytes, "--param-bytes"},
                                      {options.workers, "--workers"},
                                      {options.nodes, "--nodes"},
                                      {options.cores, "--cores"}})
    if (given)
      throw UnusableInput(UnusableInput::Cause::choice,
                          std::string(option) + " is for traces; a table has it in its rows");
  const std::vector<fit::StepRow> rows = fit::read_step_csv(file);
  if (rows.empty())
    throw UnusableInput(UnusableInput::Cause::content, file.string() + " has no rows", "one row per measurement");
  FilesImport done;
  done.step_times = static_cast<std::int64_t>(rows.size());
  done.placements = import_step_table(into, rows, options.model.empty() ? file.stem().string() : options.model);
  return done;
}

}  // namespace

FilesImport import_files(store::Database& into, const InputFiles& files, ImportOptions options,
                         std::optional<std::int64_t> log_ranks) {
  if (!files.tables.empty()) return import_table(into, files.tables.front(), options);
  FilesImport done;
  options.files = files.traces;
  if (!options.files.empty()) done.traces = import_traces(into, options);
  for (const std::filesystem::path& log : files.logs) {
    const fit::AllReduceLog collectives = fit::read_collectives(log, log_ranks);
    done.sweeps += import_nccl_log(into, collectives, log, {options.nodes});
    for (const std::string& warning : fit::messages_of(collectives))
      done.warnings.push_back(log.string() + ": " + warning);
  }
  return done;
}

FittedImports fit_imports(store::Database& database, const std::optional<fit::PredictOptions>& asked) {
  fit::write_fits(database, {});
  fit::write_predictions(database, {});
  try {
    fit::PredictOptions options = asked.value_or(fit::PredictOptions{});
    if (!asked) options.workers = workers_to_predict(database);
    if (options.workers.empty()) return {};
    return {"", fit::fit_and_predict(database, options).predicted.models};
  } catch (const fit::NotSupported& error) {
    fit::PredictResult none;
    none.notes = {fit::make_note("warning", "prediction_none", error.reason(), error.advice())};
    fit::write_predictions(database, none);
    return {error.what(), nullptr};
  }
}

const char* report_of(const InputFiles& files) {
  return !files.traces.empty() ? "imported" : !files.tables.empty() ? "predictions" : "comm";
}

}  // namespace ddpprof::import
