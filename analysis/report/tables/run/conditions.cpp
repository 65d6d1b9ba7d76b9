// Conditions of the machine during the measurement, and stability of the steps.
#include "analysis/metrics/conditions.hpp"
#include "analysis/metrics/stability.hpp"
#include "analysis/report/core/columns.hpp"
#include "analysis/report/tables/run/run.hpp"
#include "simulator/units/units.hpp"

namespace ddpprof::report {
namespace {

Cell cell(const std::optional<std::int64_t>& value) { return value ? Cell(*value) : Cell(); }

}  // namespace

Table conditions_table(const Source& source) {
  Table table;
  table.name = "conditions";
  table.title = "Conditions during the measurement";
  table.note =
      "Window: from the last three warm-up steps to the last measured step, on each host. Shares are relative to the "
      "time of all processors of the host. Others: user and system time of all processes except the ranks. The kernel "
      "counts in ticks of 10 ms, so short windows are coarse; below 1 s of processor time the shares are unknown.";
  table.empty = "No measurement recorded its conditions.";
  table.columns = configuration_columns();
  const std::vector<Column> more = {count("repeat", "repeat"),
                                    text("host", "host"),
                                    seconds("window_s", "window"),
                                    count("cpus", "processors"),
                                    share("ranks_share", "ranks"),
                                    share("others_share", "others"),
                                    share("interrupt_share", "interrupts"),
                                    share("steal_share", "steal"),
                                    quantity("frequency_begin_hz", "frequency", "Hz"),
                                    quantity("frequency_end_hz", "at the end", "Hz"),
                                    quantity("load_begin", "load", ""),
                                    quantity("load_end", "load at the end", ""),
                                    count("thermal_throttles", "too hot"),
                                    seconds("quota_throttled_s", "quota wait"),
                                    count("voluntary_switches", "waits"),
                                    count("involuntary_switches", "preemptions"),
                                    count("major_faults", "pages from disk")};
  table.columns.insert(table.columns.end(), more.begin(), more.end());
  table.columns[configuration_column_count].hide_constant = true;
  table.key_columns = configuration_column_count + 2;
  const metrics::Conditions conditions = metrics::read_conditions(source.db);
  for (const metrics::Configuration& c : source.configurations) {
    for (std::size_t repeat = 0; repeat < c.measurements.size(); ++repeat) {
      const auto found = conditions.find(c.measurements[repeat]);
      if (found == conditions.end()) continue;
      for (const store::HostConditionRow& r : found->second) {
        Row row = configuration_cells(c);
        row.insert(row.end(), {static_cast<std::int64_t>(repeat), r.host, units::ns_to_s(r.window_ns), cell(r.cpus),
                               known(r.ranks_share), known(r.others_share), known(r.interrupt_share),
                               known(r.steal_share), known(r.frequency_begin_hz), known(r.frequency_end_hz),
                               known(r.load_begin), known(r.load_end), cell(r.thermal_throttles),
                               r.quota_throttled_ns ? Cell(units::ns_to_s(*r.quota_throttled_ns)) : Cell(),
                               cell(r.voluntary_switches), cell(r.involuntary_switches), cell(r.major_faults)});
        table.rows.push_back(std::move(row));
      }
    }
  }
  return table;
}

Table stability_table(const Source& source) {
  Table table;
  table.name = "stability";
  table.title = "Stability of the steps";
  table.note =
      "Measured steps of each measurement; each is the mean over its ranks. Spread = 1.4826 MAD / median. Effective "
      "steps: the number of independent steps that would give the same precision of the median. Change: Theil-Sen "
      "slope over the measurement / median. p: Mann-Kendall test over medians of blocks of steps. Outliers: steps "
      "above median + 5 · 1.4826 MAD. Unsettled: leading steps that the rule MSER-5 would remove.";
  table.empty = "No measurement has 10 or more measured steps.";
  table.columns = configuration_columns();
  const std::vector<Column> more = {count("repeat", "repeat"),
                                    count("steps", "steps", "steps"),
                                    seconds("median_s", "median"),
                                    share("spread", "spread"),
                                    quantity("effective_steps", "effective", "steps"),
                                    share("change", "change"),
                                    quantity("drift_p", "p", ""),
                                    count("block_steps", "block", "steps"),
                                    count("outliers", "outliers", "steps"),
                                    text("outlier_place", "where"),
                                    count("unsettled_steps", "unsettled", "steps"),
                                    text("verdict", "verdict")};
  table.columns.insert(table.columns.end(), more.begin(), more.end());
  table.columns[configuration_column_count].hide_constant = true;
  table.key_columns = configuration_column_count + 1;
  for (const metrics::Configuration& c : source.configurations) {
    for (const metrics::Stability& s : stabilities(c)) {
      Row row = configuration_cells(c);
      row.insert(row.end(),
                 {s.repeat, s.steps, s.median_s, s.spread, s.effective_steps, s.change, known(s.p_value), s.block,
                  s.outliers, s.outliers > 0 ? Cell(place_text(s)) : Cell(), s.unsettled, verdict(s)});
      table.rows.push_back(std::move(row));
    }
  }
  return table;
}

}  // namespace ddpprof::report
