// Writes fits, predictions and learning rates in place of the rows of an earlier call.
#include <SQLiteCpp/Transaction.h>

#include <initializer_list>

#include "analysis/predict/predict.hpp"
#include "tracer/store/rows/inserter.hpp"

namespace ddpprof::fit {
namespace {

void forget(SQLite::Database& sql, std::initializer_list<const char*> codes) {
  SQLite::Statement remove(sql, "DELETE FROM diagnostic WHERE code = ?");
  for (const char* code : codes) {
    remove.reset();
    remove.bind(1, code);
    remove.exec();
  }
}

template <class Row>
void insert_all(store::Database& database, const std::vector<Row>& rows) {
  store::Inserter<Row> inserter(database);
  for (const Row& row : rows) inserter.insert(row);
}

}  // namespace

void write_fits(store::Database& database, const FitSummary& summary) {
  SQLite::Transaction transaction(database.sql());
  database.sql().exec("DELETE FROM fit");
  forget(database.sql(), {"fit_not_usable", "fit_doubtful", "fit_assumption", "fit_data_doubtful"});
  insert_all(database, summary.fits);
  insert_all(database, summary.notes);
  transaction.commit();
}

void write_predictions(store::Database& database, const PredictResult& result) {
  SQLite::Transaction transaction(database.sql());
  database.sql().exec("DELETE FROM prediction");
  forget(database.sql(), {"prediction_none", "prediction_too_good", "prediction_uncertain", "prediction_corrected",
                          "communication_bound", "host_bound", "links_not_measured", "measure_next", "what_if_none",
                          "batch_assumed", "table_doubtful", "measurement_left_out", "threads_of_one_n",
                          "own_cores_assumed", "log_runs_apart"});
  insert_all(database, result.predictions);
  std::vector<Note> notes = result.notes;
  std::erase_if(notes, [](const Note& note) { return note.code.starts_with("fit_"); });  // write_fits writes them
  insert_all(database, notes);
  transaction.commit();
}

void write_learning_rates(store::Database& database, const LearningRateOptions& options) {
  const std::vector<LearningRate> rows = learning_rates(options);
  SQLite::Transaction transaction(database.sql());
  database.sql().exec("DELETE FROM learning_rate");
  insert_all(database, rows);
  transaction.commit();
}

}  // namespace ddpprof::fit
