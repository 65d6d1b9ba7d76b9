#include "analysis/report/tables/sharding/sharding.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "analysis/fit/sharded/sharded_units.hpp"

namespace ddpprof::report {
namespace {

using fit::UnitTimes;

constexpr const char* no_units =
    "This file has no sharded training whose units are annotated. Import a trace of FSDP by PyTorch's "
    "profiler: ddpprof import TRACE --out FILE.db";

std::string unit_text(const UnitTimes& unit) { return unit.root ? "root" : unit.name; }

Cell unit_cell(const std::vector<UnitTimes>& units, std::optional<std::int64_t> number) {
  if (!number) return {};
  const auto found =
      std::find_if(units.begin(), units.end(), [&](const UnitTimes& unit) { return unit.unit == *number; });
  return found == units.end() ? Cell() : Cell(unit_text(*found));
}

Cell count_cell(std::optional<std::int64_t> value) { return value ? Cell(*value) : Cell(); }
Cell bytes(std::int64_t value) { return value > 0 ? Cell(value) : Cell(); }

// Calls `add` with each sharded configuration and its units.
template <class Add>
void for_each_training(const Source& source, Add add) {
  for (const metrics::Configuration& configuration : source.configurations)
    if (const std::vector<UnitTimes> units = fit::sharded_units(source.db, configuration.measurements); !units.empty())
      add(configuration, units);
}

// A time of the unit's collectives. Empty if the unit has none.
Cell time_of(const fit::UnitCollectives& collectives, double seconds) {
  return collectives.calls > 0 ? Cell(seconds) : Cell();
}

}  // namespace

Table sharded_units_table(const Source& source) {
  Table table = table_of_configurations(
      "sharded_units", "Sharded units: bytes and memory",
      "A unit is a module whose parameters are gathered together, in order of the first forward. Gathered and "
      "scattered: "
      "the whole buffer of one all-gather of parameters and of one reduce-scatter of gradients. Each parameter is cut "
      "along its first dimension and padded to equal parts. Per step: of all calls of one step. With N ranks a rank "
      "sends (N−1)/N of the buffer. Shard = gathered / N, in the element type of the all-gather; the optimizer may "
      "keep "
      "parameters in a wider type. While a unit computes, its gathered buffer is in memory beside the shards. Gathers "
      "again: the backward gathers the parameters a second time (reshard_after_forward).");
  table.empty = no_units;
  append(table,
         {text("unit", "unit"), count("parameters", "parameters"), count("gathered_bytes", "gathered", "bytes"),
          count("gathered_element_bytes", "element", "bytes"), quantity("gathers_per_step", "gathers", ""),
          count("gathered_bytes_per_step", "gathered per step", "bytes"), flag("gathers_again", "gathers again"),
          count("scattered_bytes", "scattered", "bytes"), count("scattered_element_bytes", "element", "bytes"),
          quantity("scatters_per_step", "scatters", ""),
          count("scattered_bytes_per_step", "scattered per step", "bytes"), count("shard_bytes", "shard", "bytes")});
  table.key_columns += 1;
  for_each_training(source, [&](const metrics::Configuration& configuration, const std::vector<UnitTimes>& units) {
    for (const UnitTimes& unit : units) {
      if (unit.gathered_bytes == 0 && unit.scattered_bytes == 0) continue;
      Row row = configuration_cells(configuration);
      row.insert(row.end(), {unit_text(unit), count_cell(unit.parameters), bytes(unit.gathered_bytes),
                             count_cell(unit.gathered_element_bytes), unit.gathers.calls, bytes(unit.gathers.bytes),
                             unit.gathers_again ? Cell(static_cast<std::int64_t>(*unit.gathers_again)) : Cell(),
                             bytes(unit.scattered_bytes), count_cell(unit.scattered_element_bytes), unit.scatters.calls,
                             bytes(unit.scatters.bytes), count_cell(unit.shard_bytes())});
      table.rows.push_back(std::move(row));
    }
  });
  return table;
}

Table sharded_times_table(const Source& source) {
  Table table = table_of_configurations(
      "sharded_times", "Sharded units: times",
      "Sums over one step of one rank, medians over the measured steps of all ranks. Forward and backward: compute of "
      "the "
      "unit, without its inner units; the root has the rest of the model and the loss. Copies: into and out of the "
      "buffers of collectives, and FSDP's other work. Durations of collectives include the wait for slower ranks "
      "(skew). "
      "Exposed: the rank neither computes nor copies meanwhile. Hidden by: the unit whose work overlaps most of the "
      "collective's time. On devices work belongs to the unit whose code launched it.");
  table.empty = no_units;
  append(table,
         {text("unit", "unit"), seconds("forward_s", "forward"), seconds("backward_s", "backward", "forward_s"),
          seconds("copy_s", "copies", "forward_s"), seconds("gather_s", "all-gather", "forward_s"),
          seconds("gather_exposed_s", "exposed", "forward_s"), seconds("gather_skew_s", "skew", "forward_s"),
          text("gather_hidden_by", "hidden by"), quantity("gathers_prefetched", "prefetched", ""),
          seconds("scatter_s", "reduce-scatter", "forward_s"), seconds("scatter_exposed_s", "exposed", "forward_s"),
          seconds("scatter_skew_s", "skew", "forward_s"), text("scatter_hidden_by", "hidden by"),
          seconds("replicas_s", "all-reduce", "forward_s"), seconds("replicas_exposed_s", "exposed", "forward_s")});
  for (const char* rare : {"gathers_prefetched", "replicas_s", "replicas_exposed_s"})
    for (Column& column : table.columns)
      if (column.name == rare) column.hide_zero = true;
  table.key_columns += 1;
  for_each_training(source, [&](const metrics::Configuration& configuration, const std::vector<UnitTimes>& units) {
    for (const UnitTimes& unit : units) {
      Row row = configuration_cells(configuration);
      row.insert(row.end(),
                 {unit_text(unit), unit.forward_s, unit.backward_s, unit.copy_s,
                  time_of(unit.gathers, unit.gathers.duration_s), time_of(unit.gathers, unit.gathers.exposed_s),
                  time_of(unit.gathers, unit.gathers.skew_s), unit_cell(units, unit.gathers.hidden_by), unit.prefetched,
                  time_of(unit.scatters, unit.scatters.duration_s), time_of(unit.scatters, unit.scatters.exposed_s),
                  time_of(unit.scatters, unit.scatters.skew_s), unit_cell(units, unit.scatters.hidden_by),
                  time_of(unit.replicas, unit.replicas.duration_s), time_of(unit.replicas, unit.replicas.exposed_s)});
      table.rows.push_back(std::move(row));
    }
  });
  return table;
}

Table sharded_training_table(const Source& source) {
  Table table = table_of_configurations(
      "sharded_training", "Sharded training",
      "Sums over the units of one step of one rank. Shards: the parameters that a rank keeps, in the element type of "
      "the "
      "all-gathers. Largest unit: the largest gathered buffer. Reduce-scatter as all-reduce: the backend moves about "
      "twice the bytes of a reduce-scatter, as Gloo does.");
  table.empty = no_units;
  append(
      table,
      {count("units", "units"), count("parameters", "parameters"),
       count("gathered_bytes_per_step", "gathered", "bytes"), count("scattered_bytes_per_step", "scattered", "bytes"),
       count("shard_bytes", "shards", "bytes"), count("largest_unit_bytes", "largest unit", "bytes"),
       seconds("compute_s", "compute"), seconds("copy_s", "copies", "compute_s"),
       seconds("gather_s", "all-gather", "compute_s"), seconds("gather_exposed_s", "exposed", "compute_s"),
       seconds("scatter_s", "reduce-scatter", "compute_s"), seconds("scatter_exposed_s", "exposed", "compute_s"),
       flag("scatters_by_all_reduce", "reduce-scatter as all-reduce")});
  for_each_training(source, [&](const metrics::Configuration& configuration, const std::vector<UnitTimes>& units) {
    std::int64_t sharded = 0, parameters = 0, gathered = 0, scattered = 0, shards = 0, largest = 0, by_all_reduce = 0;
    bool parameters_known = true, shards_known = true;
    double compute_s = 0, copy_s = 0, gather_s = 0, gather_exposed_s = 0, scatter_s = 0, scatter_exposed_s = 0;
    for (const UnitTimes& unit : units) {
      compute_s += unit.forward_s + unit.backward_s;
      copy_s += unit.copy_s;
      gather_s += unit.gathers.duration_s;
      gather_exposed_s += unit.gathers.exposed_s;
      scatter_s += unit.scatters.duration_s;
      scatter_exposed_s += unit.scatters.exposed_s;
      if (unit.gathered_bytes == 0 && unit.scattered_bytes == 0) continue;
      ++sharded;
      parameters_known = parameters_known && unit.parameters;
      parameters += unit.parameters.value_or(0);
      gathered += unit.gathers.bytes;
      scattered += unit.scatters.bytes;
      shards_known = shards_known && unit.shard_bytes();
      shards += unit.shard_bytes().value_or(0);
      largest = std::max(largest, unit.gathered_bytes);
      by_all_reduce = std::max<std::int64_t>(by_all_reduce, unit.scatters_by_all_reduce ? 1 : 0);
    }
    Row row = configuration_cells(configuration);
    row.insert(row.end(), {sharded, parameters_known ? Cell(parameters) : Cell(), bytes(gathered), bytes(scattered),
                           shards_known ? Cell(shards) : Cell(), bytes(largest), compute_s, copy_s, gather_s,
                           gather_exposed_s, scatter_s, scatter_exposed_s, by_all_reduce});
    table.rows.push_back(std::move(row));
  });
  return table;
}

Table sharded_memory_table(std::span<const fit::ShardedMemory> rows, const fit::WhatIf& change) {
  Table table;
  table.name = "sharded_memory";
  table.title = "Memory of a rank, without activations";
  table.note =
      "Parameters, gradients and optimizer state of the rank's shard, in the wider element type of all-gather and "
      "reduce-scatter. Gathered: the units that are in memory at one time: those that are not gathered again in the "
      "backward, and the two largest neighbours of the others. Buffers: gradients before they are reduced. "
      "Activations, the framework and fragmentation are not included. No value: how many values this optimizer keeps "
      "is not known from its name; the sum is then without it.";
  table.empty = "No sharded training is predicted.";
  table.columns = {text("strategy", "strategy"),
                   count("workers", "N", "workers"),
                   text("what_if", "what if", true),
                   count("parameters_bytes", "parameters", "bytes"),
                   count("gradients_bytes", "gradients", "bytes"),
                   count("optimizer_bytes", "optimizer", "bytes"),
                   count("gathered_bytes", "gathered", "bytes"),
                   count("buffers_bytes", "buffers", "bytes"),
                   count("total_bytes", "sum", "bytes"),
                   text("largest", "largest")};
  table.columns[2].hide_zero = true;
  table.key_columns = 3;
  std::string said;
  for (const std::string& item : change.said) said += (said.empty() ? "" : " ") + item;
  const auto whole = [](double value) { return Cell(static_cast<std::int64_t>(std::llround(value))); };
  for (const fit::ShardedMemory& row : rows)
    table.rows.push_back({row.strategy, row.workers, row.changed ? Cell(said) : Cell(), whole(row.parameters_bytes),
                          whole(row.gradients_bytes), row.optimizer_bytes ? whole(*row.optimizer_bytes) : Cell(),
                          whole(row.gathered_bytes), whole(row.buffers_bytes), whole(row.total_bytes()),
                          row.largest()});
  return table;
}

}  // namespace ddpprof::report
