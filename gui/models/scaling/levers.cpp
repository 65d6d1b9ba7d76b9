#include "gui/models/scaling/levers.hpp"

#include <fmt/format.h>

#include "analysis/report/core/columns.hpp"

namespace ddpprof::gui::whatif {
namespace {

// Sets the knob of a change.
Knobs with_change(Knobs knobs, const std::string& change) {
  if (change == "sharing=dedicated") {
    knobs.dedicated = true;
    return knobs;
  }
  const fit::WhatIf asked = fit::parse_what_if(std::vector<std::string>{change});
  knobs.bandwidth = asked.bandwidth.factor;
  knobs.latency = asked.latency.factor;
  knobs.compute = asked.compute_speed;
  knobs.host = asked.host_speed;
  knobs.bucket_cap_mb = asked.bucket_cap_mb.value_or(knobs.bucket_cap_mb);
  knobs.accumulation = asked.accumulation.value_or(knobs.accumulation);
  knobs.batch = asked.batch_per_worker.value_or(knobs.batch);
  if (asked.gradient_bytes != 1.0 || asked.model_bytes != 1.0) knobs.sixteen_bit = change;
  return knobs;
}

}  // namespace

Knobs without_changes(const Knobs& knobs, const Knobs& measured) {
  Knobs unchanged = measured;
  unchanged.workers = knobs.workers;
  unchanged.strategy = knobs.base_strategy();
  unchanged.gpus_per_node = knobs.gpus_per_node;
  unchanged.inter_node = knobs.inter_node;
  unchanged.dedicated = knobs.dedicated;
  return unchanged;
}

std::vector<Lever> ranked_levers(const Knobs& unchanged, const PredictorOf& predictor_of,
                                 const std::function<bool()>& stop) {
  const auto here = predictor_of(unchanged);
  if (here->refusal(unchanged.workers)) return {};
  std::shared_ptr<const fit::Predictor> own;
  // DataParallel's replicas always share the cores of one process.
  if (!unchanged.dedicated && unchanged.strategy == "ddp" && fit::shares_cores(here->job(), unchanged.workers)) {
    Knobs apart = unchanged;
    apart.dedicated = true;
    own = predictor_of(apart);
  }
  std::vector<Lever> levers;
  for (fit::RankedChange& change : fit::ranked_changes(*here, own.get(), unchanged.workers, stop)) {
    Knobs knobs = with_change(unchanged, change.change);
    levers.push_back({std::move(change), std::move(knobs)});
  }
  return levers;
}

report::Table levers_table(const std::vector<Lever>& levers, std::int64_t workers, double confidence) {
  const std::string level = fmt::format("{:.3g} %", 100.0 * confidence);
  report::Table table;
  table.name = "levers";
  table.title = fmt::format("What helps most at N = {} ({} interval)", workers, level);
  table.note =
      "Each row is one usual change alone; everything else is as measured, on the chosen machine. Overview has "
      "the first rows. Speedup: ratio of throughputs, with its " +
      level +
      " interval, as printed by ddpprof predict --what-if CHANGE (for sharing=dedicated: --sharing dedicated). Press "
      "Enter in a row, or double-click it, to set this change alone; ↺ beside the knob resets it, Ctrl+0 resets all.";
  table.empty = "No change can be predicted from this file.";
  table.columns = {report::text("change", "change"),
                   report::digits(report::quantity("speedup", "speedup", "×"), 3),
                   report::digits(report::quantity("speedup_low", "low", "×"), 3),
                   report::digits(report::quantity("speedup_high", "high", "×"), 3),
                   report::digits(report::seconds("changed_step_s", "changed step"), 4),
                   report::text("needs", "requires")};
  for (const Lever& lever : levers) {
    const fit::WhatIfRow& effect = lever.change.effect;
    table.rows.push_back({lever.change.change, effect.speedup, effect.speedup_low, effect.speedup_high,
                          effect.changed_step_s, std::string(fit::change_requires(lever.change.change))});
  }
  return table;
}

}  // namespace ddpprof::gui::whatif
