// Inside a step: phases.
#include <SQLiteCpp/Statement.h>
#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "analysis/report/core/columns.hpp"
#include "analysis/report/tables/steps/steps.hpp"
#include "simulator/stats/summary.hpp"
#include "simulator/units/units.hpp"

namespace ddpprof::report {

Table phases_table(const Source& source) {
  Table table = table_of_configurations(
      "phases", "Phases of a measured step",
      "Per step, ranges with the same name and lane are summed and averaged over the ranks. The table has the median "
      "over the steps with its 95 % interval. Lane 0 is the thread of the step, lane 1 + r the thread of replica r, "
      "lane −1 − t thread t of the data loader. Phases may be nested. Forward, backward and optimizer are measured on "
      "the host: on a GPU they are the times to launch them.");
  table.empty =
      "No phase was recorded. The measurement ran without tracing (measure.trace: false), or it has no measured step.";
  table.key_columns += 2;
  append(table, {text("phase", "phase"), count("lane", "lane"), count("steps", "steps", "steps"),
                 seconds("median_s", "median"), seconds("low_s", "95 % low", "median_s"),
                 seconds("high_s", "95 % high", "median_s"), share("share_of_step", "share of step"),
                 count("bytes", "bytes copied", "bytes")});
  struct Phase {
    double first_start = 0;
    metrics::Repeats durations;
    std::vector<double> bytes;
  };
  std::map<std::size_t, std::map<std::pair<std::int64_t, std::string>, Phase>> all;
  const auto of = configuration_of_measurement(source);
  SQLite::Statement query(
      source.db,
      "SELECT sh.measurement_id, p.lane, p.name, SUM(p.duration_ns), SUM(p.bytes), MIN(p.start_ns), "
      "COUNT(DISTINCT st.id) FROM phase p JOIN step st ON st.id = p.step_id JOIN shard sh ON sh.id = st.shard_id "
      "WHERE st.kind = 'measured' GROUP BY sh.measurement_id, st.step, p.lane, p.name "
      "ORDER BY sh.measurement_id, st.step, p.lane, p.name");
  while (query.executeStep()) {
    const auto found = of.find(query.getColumn(0).getInt64());
    if (found == of.end()) continue;
    const double ranks = query.getColumn(6).getDouble();
    Phase& phase = all[found->second][{query.getColumn(1).getInt64(), query.getColumn(2).getString()}];
    phase.durations.add(query.getColumn(0).getInt64(), units::ns_to_s(query.getColumn(3).getDouble() / ranks));
    if (!query.getColumn(4).isNull()) phase.bytes.push_back(query.getColumn(4).getDouble() / ranks);
    if (phase.durations.size() == 1) phase.first_start = query.getColumn(5).getDouble();
  }
  for (auto& [index, phases] : all) {
    const metrics::Configuration& c = source.configurations[index];
    std::vector<std::pair<std::pair<std::int64_t, std::string>, const Phase*>> ordered;
    for (const auto& [key, phase] : phases) ordered.emplace_back(key, &phase);
    std::stable_sort(ordered.begin(), ordered.end(), [](const auto& a, const auto& b) {
      return std::pair(a.first.first, a.second->first_start) < std::pair(b.first.first, b.second->first_start);
    });
    const double step = c.measured.empty() ? 0.0 : metrics::median_of(c.measured, &metrics::RunStep::duration_s).mid;
    for (const auto& [key, phase] : ordered) {
      const stats::Interval time = phase->durations.median_interval();
      Row row = configuration_cells(c);
      row.insert(row.end(),
                 {key.second, key.first, static_cast<std::int64_t>(phase->durations.size()), time.mid, time.low,
                  time.high, step > 0 ? Cell(time.mid / step) : Cell(),
                  phase->bytes.empty() ? Cell() : Cell(static_cast<std::int64_t>(stats::median(phase->bytes)))});
      table.rows.push_back(std::move(row));
    }
  }
  return table;
}

}  // namespace ddpprof::report
