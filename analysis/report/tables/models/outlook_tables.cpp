#include "analysis/report/tables/models/outlook_tables.hpp"

#include <SQLiteCpp/Statement.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "analysis/predict/predict.hpp"
#include "analysis/predict/predictor.hpp"
#include "analysis/predict/sharded/sharded_prediction.hpp"
#include "analysis/report/core/columns.hpp"
#include "analysis/report/tables/models/stored_models.hpp"
#include "analysis/report/tables/models/what_if_tables.hpp"

namespace ddpprof::report {

Table what_helps_table(const std::vector<fit::RankedChange>& changes, double confidence) {
  Table table;
  table.name = "what_helps";
  table.title = "What helps: usual changes by their gain";
  const std::string level = fmt::format("{:.3g} % ", 100.0 * confidence);
  table.note =
      "Speedup: of the throughput at this N, as of ddpprof predict --what-if CHANGE; sharing=dedicated: --sharing "
      "dedicated. A setting is a change of the job, machine is other hardware. Changes that cannot be predicted for "
      "this job are left out.";
  std::vector<fit::WhatIfRow> effects;
  for (const fit::RankedChange& one : changes) effects.push_back(one.effect);
  table.note += one_sided_text(effects);
  if (std::ranges::any_of(changes, [](const fit::RankedChange& one) { return one.effect.strategy == "fsdp"; }))
    table.note +=
        " reshard_after_forward=off, replicate and strategy=ddp need more memory in each rank: see the table "
        "sharded_memory of ddpprof predict --what-if CHANGE.";
  table.empty = "No change can be predicted for this job.";
  table.columns = {text("strategy", "strategy", true),
                   count("workers", "N", "workers"),
                   text("change", "change"),
                   text("kind", "kind"),
                   digits(seconds("step_s", "step now"), 4),
                   digits(seconds("changed_step_s", "then", "step_s"), 4),
                   digits(quantity("speedup", "speedup", "×"), 3),
                   digits(quantity("speedup_low", level + "low", "×"), 3),
                   digits(quantity("speedup_high", level + "high", "×"), 3)};
  table.key_columns = 3;
  for (const fit::RankedChange& one : changes) {
    const fit::WhatIfRow& effect = one.effect;
    table.rows.push_back({effect.strategy, effect.workers, one.change, std::string(one.setting ? "setting" : "machine"),
                          effect.step_s, effect.changed_step_s, effect.speedup, effect.speedup_low,
                          effect.speedup_high});
  }
  return table;
}

Table dedicated_predictions_table(const std::vector<store::PredictionRow>& rows) {
  Table table;
  table.name = "dedicated_predictions";
  table.title = "Predictions if every rank has its own cores";
  table.note =
      "As of ddpprof predict --sharing dedicated: every rank has as many cores as one rank at the smallest "
      "measured N.";
  table.empty = "No prediction in which ranks share cores.";
  table.columns = {text("strategy", "strategy"),
                   count("workers", "N", "workers"),
                   digits(seconds("step_s", "step"), 4),
                   digits(seconds("step_low_s", "low", "step_s"), 4),
                   digits(seconds("step_high_s", "high", "step_s"), 4),
                   share("confidence", "confidence"),
                   digits(quantity("throughput_samples_per_s", "throughput", "samples/s"), 4),
                   share("efficiency", "weak efficiency"),
                   text("bound", "bound"),
                   prose("note", "note")};
  table.columns[5].hide_constant = true;
  table.key_columns = 2;
  for (const store::PredictionRow& r : rows)
    table.rows.push_back({r.strategy, r.world_size, r.step_s, r.step_low_s, r.step_high_s, r.confidence,
                          where_positive(r.throughput), r.efficiency, r.bound, r.note});
  return table;
}

Table next_measurements_table(const Source& source) {
  Table table;
  table.name = "next_measurements";
  table.title = "What to measure next";
  table.empty = "No further measurement would narrow a prediction by a fifth.";
  table.columns = {prose("message", "what"), prose("advice", "how")};
  SQLite::Statement query(source.db,
                          "SELECT DISTINCT message, advice FROM diagnostic WHERE code = 'measure_next' ORDER BY rowid");
  while (query.executeStep()) table.rows.push_back({query.getColumn(0).getString(), query.getColumn(1).getString()});
  return table;
}

WorkersByStrategy predicted_workers(store::Database& database) {
  WorkersByStrategy all;
  SQLite::Statement query(database.sql(), "SELECT DISTINCT strategy, world_size FROM prediction WHERE step_s > 0");
  while (query.executeStep()) all[query.getColumn(0).getString()].insert(query.getColumn(1).getInt64());
  return all;
}

namespace {

struct Outlook {
  std::vector<fit::RankedChange> changes;
  std::vector<store::PredictionRow> dedicated;
};

void add_modelled(const std::shared_ptr<const fit::Models>& models, const std::string& strategy,
                  const std::set<std::int64_t>& counts, const fit::PredictOptions& options, Outlook& all) {
  const auto& profiles = strategy == "ddp" ? models->measured.ddp : models->measured.dp;
  if (profiles.empty()) return;
  const fit::Predictor here = fit::make_predictor(models, strategy, options);
  const std::int64_t furthest = *counts.rbegin();
  if (here.refusal(furthest)) return;
  std::optional<fit::Predictor> own;
  if (!options.dedicated && strategy == "ddp" && fit::shares_cores(here.job(), furthest)) {
    fit::PredictOptions apart = options;
    apart.dedicated = true;
    own = fit::make_predictor(models, strategy, apart);
    for (const std::int64_t workers : counts)
      if (!own->refusal(workers) && fit::shares_cores(here.job(), workers))
        all.dedicated.push_back(fit::predict(*own, workers, fit::gains(*own, workers)));
  }
  const std::vector<fit::RankedChange> ranked = fit::ranked_changes(here, own ? &*own : nullptr, furthest);
  all.changes.insert(all.changes.end(), ranked.begin(), ranked.end());
}

}  // namespace

std::vector<Table> outlook_tables(store::Database& database, const std::shared_ptr<const fit::Models>& models,
                                  const WorkersByStrategy& asked, const fit::PredictOptions& options) {
  Outlook all;
  for (const auto& [strategy, counts] : asked) {
    if (counts.empty()) continue;
    if (models && (strategy == "ddp" || strategy == "dp")) add_modelled(models, strategy, counts, options, all);
    if (strategy != "fsdp") continue;
    const auto ranked = fit::ranked_sharded_changes(database.sql(), options, *counts.rbegin());
    all.changes.insert(all.changes.end(), ranked.begin(), ranked.end());
  }
  return {what_helps_table(all.changes, options.confidence), dedicated_predictions_table(all.dedicated)};
}

}  // namespace ddpprof::report
