// What devices did in windows of time, and which kernels took it: of imported traces.
#include <SQLiteCpp/Statement.h>
#include <fmt/format.h>

#include <algorithm>

#include "analysis/report/build.hpp"

namespace ddpprof::report {
namespace {

constexpr double shown_share = 0.001;  // of all kernels' time; names below it share a row

double in_seconds(std::int64_t ns) { return static_cast<double>(ns) / 1e9; }

}  // namespace

Table device_time_table(const Source& source) {
  Table table;
  table.name = "device_time";
  table.title = "Devices by annotated step";
  table.note =
      "By union and intersection of intervals. Communication: kernels of NCCL and RCCL, waiting for slower ranks "
      "included; compute: all other kernels; copies: memcpy and memset. Overlapped share = overlapped / communication "
      "(HTA's rule). A window is the host's annotation, as HTA takes it, and all: first to last device event. The step "
      "times of other reports are the device's, from the end of one step's work to the end of the next one's.";
  table.empty = "No imported trace with device events in this file. Make one with: ddpprof import TRACE --out FILE.db";
  table.columns = {text("model", "model", true),
                   count("measurement", "measurement"),
                   count("rank", "rank"),
                   text("window", "window"),
                   seconds("span_s", "span"),
                   seconds("compute_s", "compute", "span_s"),
                   seconds("communication_s", "communication", "span_s"),
                   seconds("copies_s", "copies", "span_s"),
                   seconds("overlapped_s", "overlapped", "span_s"),
                   seconds("exposed_s", "exposed", "span_s"),
                   seconds("idle_s", "idle", "span_s"),
                   share("overlapped_share", "overlapped share"),
                   count("collectives", "collectives")};
  table.key_columns = 4;
  SQLite::Statement query(source.db,
                          "SELECT m.model, m.id, sh.rank, d.name, d.span_ns, d.compute_ns, d.communication_ns, "
                          "d.memory_ns, d.overlapped_ns, d.busy_ns, d.collective_kernels FROM device_time d "
                          "JOIN shard sh ON sh.id = d.shard_id JOIN measurement m ON m.id = sh.measurement_id "
                          "ORDER BY m.id, sh.rank, d.name = 'all' DESC, d.start_ns, d.name");
  while (query.executeStep()) {
    const auto at = [&](int column) { return query.getColumn(column).getInt64(); };
    table.rows.push_back({query.getColumn(0).getString(), at(1), at(2), query.getColumn(3).getString(),
                          in_seconds(at(4)), in_seconds(at(5)), in_seconds(at(6)), in_seconds(at(7)), in_seconds(at(8)),
                          in_seconds(at(6) - at(8)), in_seconds(at(4) - at(9)),
                          ratio(static_cast<double>(at(8)), static_cast<double>(at(6))), at(10)});
  }
  return table;
}

Table kernels_table(const Source& source) {
  Table table;
  table.name = "kernels";
  table.title = "Kernels, copies and sets by name";
  table.note = fmt::format(
      "Total: sum of durations over all ranks, simultaneous ones counted each. Share: of all of them. Names that take "
      "less than {:.1f} % share the last row of their measurement.",
      100.0 * shown_share);
  table.empty = "No imported trace with device events in this file. Make one with: ddpprof import TRACE --out FILE.db";
  table.columns = {text("model", "model", true),
                   count("measurement", "measurement"),
                   text("kind", "kind"),
                   text("name", "name"),
                   count("count", "count"),
                   seconds("total_s", "total"),
                   share("share", "share"),
                   seconds("mean_s", "mean", "minimum_s"),
                   seconds("minimum_s", "shortest"),
                   seconds("maximum_s", "longest", "minimum_s")};
  table.key_columns = 4;
  SQLite::Statement query(
      source.db,
      "SELECT m.model, m.id, k.kind, s.value, SUM(k.count), SUM(k.total_ns), MIN(k.minimum_ns), MAX(k.maximum_ns), "
      "SUM(SUM(k.total_ns)) OVER (PARTITION BY m.id) FROM kernel_summary k JOIN string s ON s.id = k.name_id "
      "JOIN shard sh ON sh.id = k.shard_id JOIN measurement m ON m.id = sh.measurement_id "
      "GROUP BY m.id, k.kind, s.value ORDER BY m.id, SUM(k.total_ns) DESC, k.kind, s.value");
  struct Rest {
    std::int64_t measurement = -1, names = 0, count = 0, total_ns = 0, shortest_ns = 0, longest_ns = 0, all_ns = 0;
    std::string model;
  } rest;
  const auto add_rest = [&] {
    if (rest.names == 0) return;
    table.rows.push_back({rest.model, rest.measurement, std::string("various"),
                          fmt::format("{} other names", rest.names), rest.count, in_seconds(rest.total_ns),
                          ratio(static_cast<double>(rest.total_ns), static_cast<double>(rest.all_ns)),
                          in_seconds(rest.total_ns) / static_cast<double>(rest.count), in_seconds(rest.shortest_ns),
                          in_seconds(rest.longest_ns)});
    rest = {};
  };
  while (query.executeStep()) {
    const auto at = [&](int column) { return query.getColumn(column).getInt64(); };
    const std::int64_t measurement = at(1), total_ns = at(5), all_ns = at(8);
    if (measurement != rest.measurement) add_rest();
    if (static_cast<double>(total_ns) < shown_share * static_cast<double>(all_ns)) {
      rest.model = query.getColumn(0).getString();
      rest.measurement = measurement;
      rest.shortest_ns = rest.names == 0 ? at(6) : std::min(rest.shortest_ns, at(6));
      rest.longest_ns = std::max(rest.longest_ns, at(7));
      ++rest.names;
      rest.count += at(4);
      rest.total_ns += total_ns;
      rest.all_ns = all_ns;
      continue;
    }
    table.rows.push_back({query.getColumn(0).getString(), measurement, query.getColumn(2).getString(),
                          query.getColumn(3).getString(), at(4), in_seconds(total_ns),
                          ratio(static_cast<double>(total_ns), static_cast<double>(all_ns)),
                          in_seconds(total_ns) / static_cast<double>(at(4)), in_seconds(at(6)), in_seconds(at(7))});
  }
  add_rest();
  return table;
}

}  // namespace ddpprof::report
