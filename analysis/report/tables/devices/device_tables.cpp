// Times of devices by window, and by kernel, for imported traces.
#include <SQLiteCpp/Statement.h>
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <string_view>

#include "analysis/metrics/kernel_name.hpp"
#include "analysis/report/tables/devices/devices.hpp"
#include "simulator/units/units.hpp"

namespace ddpprof::report {
namespace {

constexpr double shown_share = 0.001;  // share of the time of all kernels; names below it share a row

struct NamedTime {
  std::string model, kind, name;
  std::int64_t count = 0, total_ns = 0, shortest_ns = 0, longest_ns = 0;
};

Row row_of(const NamedTime& one, std::int64_t measurement, std::int64_t all_ns) {
  return {one.model,
          measurement,
          one.kind,
          one.name,
          one.count,
          units::ns_to_s(one.total_ns),
          ratio(static_cast<double>(one.total_ns), static_cast<double>(all_ns)),
          one.count > 0 ? Cell(units::ns_to_s(one.total_ns) / static_cast<double>(one.count)) : Cell(),
          units::ns_to_s(one.shortest_ns),
          units::ns_to_s(one.longest_ns)};
}

}  // namespace

std::vector<Column> window_columns() {
  return {text("model", "model", true), count("measurement", "measurement"), count("rank", "rank"),
          text("window", "window"), seconds("span_s", "span")};
}

Row window_cells(const metrics::DeviceWindow& window) {
  return {window.model, window.measurement, window.rank, window.name};
}

Table device_time_table(const Source& source) {
  Table table;
  table.name = "device_time";
  table.title = "Devices by annotated step";
  table.note =
      "Times are unions and intersections of intervals. Communication: kernels of collectives, which are found by the "
      "calls that launched them and by their names, including waiting for slower ranks; empty if collectives were "
      "called "
      "whose kernels are not known. Compute: all other kernels. Copies: memcpy and memset. Overlapped share = "
      "overlapped / "
      "communication (as in HTA). A window is an annotation of the host, as in HTA; the window “all” is from the first "
      "to the last device event. Other reports use the step of the device: from the end of one step's work to the end "
      "of the next step's work.";
  table.empty = no_device_events;
  table.columns = window_columns();
  table.key_columns = window_key_columns;
  append(table, {seconds("compute_s", "compute", "span_s"), seconds("communication_s", "communication", "span_s"),
                 seconds("copies_s", "copies", "span_s"), seconds("overlapped_s", "overlapped", "span_s"),
                 seconds("exposed_s", "exposed", "span_s"), seconds("idle_s", "idle", "span_s"),
                 share("overlapped_share", "overlapped share"), count("collectives", "collectives")});
  for (const metrics::DeviceWindow& window : metrics::read_device_windows(source.db)) {
    Row row = window_cells(window);
    const auto if_known = [&](Cell cell) { return window.communication_known ? cell : Cell(); };
    row.insert(
        row.end(),
        {units::ns_to_s(window.span_ns), units::ns_to_s(window.compute_ns),
         if_known(units::ns_to_s(window.communication_ns)), units::ns_to_s(window.memory_ns),
         if_known(units::ns_to_s(window.overlapped_ns)),
         if_known(units::ns_to_s(window.communication_ns - window.overlapped_ns)),
         units::ns_to_s(window.span_ns - window.busy_ns),
         if_known(ratio(static_cast<double>(window.overlapped_ns), static_cast<double>(window.communication_ns))),
         if_known(window.collective_kernels)});
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table kernels_table(const Source& source) {
  Table table;
  table.name = "kernels";
  table.title = "Kernels, copies and sets by name";
  table.note = fmt::format(
      "Total: sum of durations over all ranks; simultaneous kernels are counted separately. Share: of the sum over all "
      "kernels. Names below {:.1f} % are combined in the last row of their measurement. Names are shown without "
      "template and function arguments; the database table kernel_summary has the full names.",
      100.0 * shown_share);
  table.empty = no_device_events;
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
      "SELECT m.model, m.id, k.kind, s.value, SUM(k.count), SUM(k.total_ns), MIN(k.minimum_ns), MAX(k.maximum_ns) "
      "FROM kernel_summary k JOIN string s ON s.id = k.name_id JOIN shard sh ON sh.id = k.shard_id "
      "JOIN measurement m ON m.id = sh.measurement_id GROUP BY m.id, k.kind, s.value ORDER BY m.id, k.kind, s.value");
  std::map<std::int64_t, std::vector<NamedTime>> measurements;
  while (query.executeStep()) {
    const auto at = [&](int column) { return query.getColumn(column).getInt64(); };
    std::vector<NamedTime>& names = measurements[at(1)];
    const std::string kind = query.getColumn(2).getString(),
                      name = metrics::short_kernel_name(query.getColumn(3).getString());
    auto found =
        std::ranges::find_if(names, [&](const NamedTime& one) { return one.kind == kind && one.name == name; });
    if (found == names.end()) {
      names.push_back({query.getColumn(0).getString(), kind, name, 0, 0, at(6), at(7)});
      found = std::prev(names.end());
    }
    found->count += at(4);
    found->total_ns += at(5);
    found->shortest_ns = std::min(found->shortest_ns, at(6));
    found->longest_ns = std::max(found->longest_ns, at(7));
  }
  for (auto& [measurement, names] : measurements) {
    std::ranges::stable_sort(names, std::greater{}, &NamedTime::total_ns);
    std::int64_t all_ns = 0, rest_names = 0;
    for (const NamedTime& one : names) all_ns += one.total_ns;
    NamedTime rest{"", "various", "", 0, 0, INT64_MAX, 0};
    for (const NamedTime& one : names) {
      if (static_cast<double>(one.total_ns) >= shown_share * static_cast<double>(all_ns)) {
        table.rows.push_back(row_of(one, measurement, all_ns));
        continue;
      }
      ++rest_names;
      rest.model = one.model;
      rest.count += one.count;
      rest.total_ns += one.total_ns;
      rest.shortest_ns = std::min(rest.shortest_ns, one.shortest_ns);
      rest.longest_ns = std::max(rest.longest_ns, one.longest_ns);
    }
    if (rest_names == 0) continue;
    rest.name = fmt::format("{} other names", rest_names);
    table.rows.push_back(row_of(rest, measurement, all_ns));
  }
  return table;
}

}  // namespace ddpprof::report
