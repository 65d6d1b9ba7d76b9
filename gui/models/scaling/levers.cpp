#include "gui/models/scaling/levers.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>

#include "analysis/report/core/columns.hpp"

namespace ddpprof::gui::whatif {

std::vector<Lever> candidate_levers(const Knobs& knobs, const Knobs& measured) {
  Knobs as_measured = measured;
  as_measured.workers = knobs.workers;
  as_measured.strategy = knobs.base_strategy();
  as_measured.gpus_per_node = knobs.gpus_per_node;
  as_measured.inter_node = knobs.inter_node;
  as_measured.dedicated = knobs.dedicated;
  std::vector<Lever> all;
  const auto add = [&](KnobId id, std::string words, const char* needs, const auto& turn) {
    Lever lever;
    lever.knob = id;
    lever.knobs = as_measured;
    turn(lever.knobs);
    lever.words = std::move(words);
    lever.needs = needs;
    all.push_back(std::move(lever));
  };
  const bool ddp = as_measured.strategy == "ddp";
  const std::string links = ddp ? "link" : "copy";
  add(KnobId::bandwidth, links + " bandwidth × 2", "faster links", [](Knobs& k) { k.bandwidth = 2.0; });
  add(KnobId::latency, links + " latency × ½", "faster links", [](Knobs& k) { k.latency = 0.5; });
  add(KnobId::compute, "compute speed × 2", "faster devices", [](Knobs& k) { k.compute = 2.0; });
  if (measured.has_host)
    add(KnobId::host, "speed of launches × 2", "CUDA graphs or torch.compile", [](Knobs& k) { k.host = 2.0; });
  if (ddp) {
    add(KnobId::sixteen_bit, "fp16 gradients", "a communication hook",
        [](Knobs& k) { k.sixteen_bit = "compression=fp16"; });
    add(KnobId::bucket_cap, "bucket cap × 2", "a setting of DDP", [](Knobs& k) { k.bucket_cap_mb *= 2.0; });
    add(KnobId::bucket_cap, "bucket cap × ½", "a setting of DDP", [](Knobs& k) { k.bucket_cap_mb *= 0.5; });
  }
  add(KnobId::accumulation, fmt::format("accumulation {}", 2 * measured.accumulation), "a larger global batch",
      [](Knobs& k) { k.accumulation *= 2; });
  if (measured.batch > 0)
    add(KnobId::batch, fmt::format("batch per worker {}", 2 * measured.batch), "a larger global batch",
        [](Knobs& k) { k.batch *= 2; });
  // DataParallel's replicas always share the cores of one process.
  if (ddp && measured.has_cores && !as_measured.dedicated)
    add(KnobId::dedicated, "dedicated cores", "more cores or hosts", [](Knobs& k) { k.dedicated = true; });
  return all;
}

std::vector<Lever> evaluate(std::vector<Lever> levers, const PredictorOf& predictor_of, const Knobs& measured,
                            const std::function<bool()>& stop) {
  for (Lever& lever : levers) {
    if (stop()) break;
    try {
      const std::int64_t workers = lever.knobs.workers;
      if (lever.knob == KnobId::dedicated) {
        Knobs here = lever.knobs;
        here.dedicated = !here.dedicated;
        lever.row = fit::machine_effect(*predictor_of(here), *predictor_of(lever.knobs), workers);
        continue;
      }
      const auto predictor = predictor_of(lever.knobs);
      const fit::WhatIf change = what_if(lever.knobs, measured);
      if (const auto refused = predictor->refusal(workers, change))
        lever.why_not = refused->reason;
      else
        lever.row = fit::change_effect(*predictor, workers, change);
    } catch (const std::invalid_argument& error) {
      lever.why_not = error.what();
    }
  }
  std::stable_sort(levers.begin(), levers.end(), [](const Lever& a, const Lever& b) {
    return (a.row ? a.row->speedup : -1.0) > (b.row ? b.row->speedup : -1.0);
  });
  return levers;
}

report::Table levers_table(const std::vector<Lever>& levers, std::int64_t workers, double confidence) {
  const std::string level = fmt::format("{:.3g} %", 100.0 * confidence);
  report::Table table;
  table.name = "levers";
  table.title = fmt::format("Which knob helps most at N = {} ({} interval)", workers, level);
  table.note =
      "Each row changes one knob; everything else is as measured, on the chosen machine. Speedup: ratio of "
      "throughputs, with its " +
      level +
      " interval, as printed by ddpprof predict --what-if (for dedicated cores: --sharing dedicated). Press Enter "
      "in a row, or double-click it, to set this knob alone; ↺ beside the knob resets it, Ctrl+0 resets all.";
  table.empty = "No change can be predicted from this file.";
  table.columns = {report::text("knob", "one knob alone"),
                   report::digits(report::quantity("speedup", "speedup", "×"), 3),
                   report::digits(report::quantity("speedup_low", "low", "×"), 3),
                   report::digits(report::quantity("speedup_high", "high", "×"), 3),
                   report::digits(report::seconds("changed_step_s", "changed step"), 4),
                   report::text("needs", "requires"),
                   report::prose("note", "why not")};
  for (const Lever& lever : levers) {
    report::Row row = {lever.words};
    if (lever.row) {
      row.insert(row.end(), {lever.row->speedup, lever.row->speedup_low, lever.row->speedup_high,
                             lever.row->changed_step_s, lever.needs, report::Cell()});
    } else {
      row.insert(row.end(), {report::Cell(), report::Cell(), report::Cell(), report::Cell(), lever.needs,
                             lever.why_not.empty() ? report::Cell() : report::Cell(lever.why_not)});
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace ddpprof::gui::whatif
