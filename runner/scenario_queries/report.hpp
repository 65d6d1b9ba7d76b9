// Reports of a trace database, with the tables that need its scenario. The command line and the window both use them.
#pragma once

#include <memory>
#include <string_view>

#include "analysis/predict/predict.hpp"
#include "analysis/report/report.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof::scenario_queries {

// Returns report::build_report with the rates calculated from the scenario and the measurements, as in `ddpprof lr`.
// Reports about the learning rate also have plan_tables() (rates.hpp). A file without a scenario (an import, a
// benchmark) has none of them. For an unreadable or impossible scenario a table without rows states the reason. Throws
// like report::build_report. `options`: of the ranked changes after replace_predictions(); null: those of the scenario.
// `models`: fitted to the file's measurements with the options' logs of collectives; null: fitted here if needed.
report::Report build_report(store::Database&, std::string_view name,
                            metrics::OverlapRule = metrics::OverlapRule::intersection,
                            const fit::PredictOptions* options = nullptr,
                            std::shared_ptr<const fit::Models> models = nullptr);

// Replaces the predictions that reports of this connection show by those under the options, together with the notes of
// predictions. The file does not change. Call it once for a connection. Throws like fit::predict_all, and
// SQLite::Exception.
void replace_predictions(store::Database&, const fit::PredictOptions&);

}  // namespace ddpprof::scenario_queries
