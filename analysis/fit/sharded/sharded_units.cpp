#include "analysis/fit/sharded/sharded_units.hpp"

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>

#include <algorithm>
#include <map>
#include <utility>

#include "simulator/stats/summary.hpp"
#include "simulator/units/units.hpp"

namespace ddpprof::fit {
namespace {

// One step of one rank.
struct StepSums {
  double calls = 0, bytes = 0, duration_s = 0, exposed_s = 0, skew_s = 0, prefetched = 0, busy_s = 0;
};

struct Collected {
  std::map<std::int64_t, StepSums> gathers, scatters, replicas, forward, backward, copies;  // by step id
  std::map<std::int64_t, std::int64_t> gathers_hidden, scatters_hidden, replicas_hidden;    // number by unit
};

template <class Value>
double median_of(const std::map<std::int64_t, StepSums>& steps, std::size_t all_steps, Value value) {
  std::vector<double> values;
  for (const auto& [step, sums] : steps) values.push_back(value(sums));
  values.resize(std::max(values.size(), all_steps), 0.0);  // the other steps have none
  return values.empty() ? 0.0 : stats::median(values);
}

UnitCollectives collectives_of(const std::map<std::int64_t, StepSums>& steps, std::size_t all_steps,
                               const std::map<std::int64_t, std::int64_t>& hidden) {
  UnitCollectives found;
  found.calls = median_of(steps, all_steps, [](const StepSums& sums) { return sums.calls; });
  found.bytes = static_cast<std::int64_t>(median_of(steps, all_steps, [](const StepSums& sums) { return sums.bytes; }));
  found.duration_s = median_of(steps, all_steps, [](const StepSums& sums) { return sums.duration_s; });
  found.exposed_s = median_of(steps, all_steps, [](const StepSums& sums) { return sums.exposed_s; });
  found.skew_s = median_of(steps, all_steps, [](const StepSums& sums) { return sums.skew_s; });
  std::int64_t most = 0;
  for (const auto& [unit, count] : hidden) {
    if (count > most) found.hidden_by = unit;
    most = std::max(most, count);
  }
  return found;
}

std::optional<std::int64_t> whole(const SQLite::Column& column) {
  return column.isNull() ? std::nullopt : std::optional(column.getInt64());
}

// Adds the work of one measurement. Returns the number of measured steps of all its ranks.
std::size_t collect(SQLite::Database& sql, std::int64_t measurement, std::map<std::int64_t, Collected>& by_unit) {
  SQLite::Statement query(
      sql,
      "SELECT w.step_id, w.unit, w.action, w.pass, w.end_ns - w.start_ns, COALESCE(w.busy_ns, 0), COALESCE(w.bytes, "
      "0), "
      "COALESCE(w.exposed_ns, 0), w.hidden_by, COALESCE(w.prefetched, 0), COALESCE(c.skew_ns, 0) FROM sharded_work w "
      "JOIN step st ON st.id = w.step_id JOIN shard sh ON sh.id = st.shard_id LEFT JOIN collective c ON c.shard_id = "
      "sh.id AND c.communicator = w.communicator AND c.sequence = w.sequence WHERE sh.measurement_id = ? AND st.kind = "
      "'measured'");
  query.bind(1, measurement);
  while (query.executeStep()) {
    Collected& unit = by_unit[query.getColumn(1).getInt64()];
    const std::string action = query.getColumn(2).getString();
    const bool backward = query.getColumn(3).getString() == "backward";
    std::map<std::int64_t, std::int64_t>* hidden = nullptr;
    std::map<std::int64_t, StepSums>* sums_of = nullptr;
    if (action == "all_gather") {
      sums_of = &unit.gathers;
      hidden = &unit.gathers_hidden;
    } else if (action == "reduce_scatter") {
      sums_of = &unit.scatters;
      hidden = &unit.scatters_hidden;
    } else if (action == "all_reduce") {
      sums_of = &unit.replicas;
      hidden = &unit.replicas_hidden;
    } else {
      sums_of = action == "copy" ? &unit.copies : backward ? &unit.backward : &unit.forward;
    }
    StepSums& sums = (*sums_of)[query.getColumn(0).getInt64()];
    sums.calls += 1;
    sums.duration_s += units::ns_to_s(query.getColumn(4).getDouble());
    sums.busy_s += units::ns_to_s(query.getColumn(5).getDouble());
    sums.bytes += query.getColumn(6).getDouble();
    sums.exposed_s += units::ns_to_s(query.getColumn(7).getDouble());
    if (const std::optional<std::int64_t> by = whole(query.getColumn(8)); by && hidden) ++(*hidden)[*by];
    sums.prefetched += query.getColumn(9).getDouble();
    sums.skew_s += units::ns_to_s(query.getColumn(10).getDouble());
  }
  SQLite::Statement steps(
      sql,
      "SELECT COUNT(*) FROM step st JOIN shard sh ON sh.id = st.shard_id WHERE sh.measurement_id = ? "
      "AND st.kind = 'measured'");
  steps.bind(1, measurement);
  return steps.executeStep() ? static_cast<std::size_t>(steps.getColumn(0).getInt64()) : 0;
}

}  // namespace

std::vector<UnitTimes> sharded_units_alone(SQLite::Database& sql, std::int64_t measurement) {
  std::vector<UnitTimes> units;
  SQLite::Statement query(sql,
                          "SELECT unit, name, root, parameters, ranks, gathered_bytes, scattered_bytes, "
                          "gathered_element_bytes, scattered_element_bytes, gathers_again, scatters_by_all_reduce FROM "
                          "sharded_unit WHERE measurement_id = ? ORDER BY unit");
  query.bind(1, measurement);
  while (query.executeStep()) {
    UnitTimes& unit = units.emplace_back();
    unit.unit = query.getColumn(0).getInt64();
    unit.name = query.getColumn(1).getString();
    unit.root = query.getColumn(2).getInt64() != 0;
    unit.parameters = whole(query.getColumn(3));
    unit.ranks = whole(query.getColumn(4));
    unit.gathered_bytes = query.getColumn(5).getInt64();
    unit.scattered_bytes = query.getColumn(6).getInt64();
    unit.gathered_element_bytes = whole(query.getColumn(7));
    unit.scattered_element_bytes = whole(query.getColumn(8));
    if (const std::optional<std::int64_t> again = whole(query.getColumn(9))) unit.gathers_again = *again != 0;
    unit.scatters_by_all_reduce = query.getColumn(10).getInt64() != 0;
  }
  return units;
}

std::vector<UnitTimes> sharded_units(SQLite::Database& sql, std::span<const std::int64_t> measurements) {
  std::vector<UnitTimes> units;
  std::map<std::int64_t, Collected> by_unit;
  std::size_t steps = 0;
  for (const std::int64_t measurement : measurements) {
    std::vector<UnitTimes> of_measurement = sharded_units_alone(sql, measurement);
    if (of_measurement.empty()) continue;
    if (units.empty()) units = std::move(of_measurement);
    steps += collect(sql, measurement, by_unit);
  }
  const auto busy = [&](const std::map<std::int64_t, StepSums>& work) {
    return median_of(work, steps, [](const StepSums& sums) { return sums.busy_s; });
  };
  for (UnitTimes& unit : units) {
    const Collected& collected = by_unit[unit.unit];
    unit.gathers = collectives_of(collected.gathers, steps, collected.gathers_hidden);
    unit.scatters = collectives_of(collected.scatters, steps, collected.scatters_hidden);
    unit.replicas = collectives_of(collected.replicas, steps, collected.replicas_hidden);
    unit.prefetched = median_of(collected.gathers, steps, [](const StepSums& sums) { return sums.prefetched; });
    unit.forward_s = busy(collected.forward);
    unit.backward_s = busy(collected.backward);
    unit.copy_s = busy(collected.copies);
  }
  return units;
}

}  // namespace ddpprof::fit
