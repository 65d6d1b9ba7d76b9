// Tables about the run and the versions of software.
#include <SQLiteCpp/Statement.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "analysis/report/core/words.hpp"
#include "analysis/report/tables/run/run.hpp"
#include "simulator/units/units.hpp"
#include "tracer/store/rows/run_rows.hpp"

namespace ddpprof::report {
Table run_table(const Source& source) {
  Table table;
  table.name = "run";
  table.title = "What was run";
  table.as_record = true;
  table.empty = "No measurement in this file.";
  table.columns = {text("scenario", "scenario"),
                   text("kind", "kind"),
                   text("model", "model"),
                   count("parameters", "parameters"),
                   count("gradient_bytes", "gradients", "bytes"),
                   count("batch_per_worker_samples", "batch per worker", "samples"),
                   count("accumulation", "accumulation", "micro-batches"),
                   text("precision", "precision"),
                   text("strategies", "strategies"),
                   text("workers", "workers measured"),
                   text("backend", "backend"),
                   text("device", "device"),
                   count("cores", "cores", "cores"),
                   text("threads_per_rank", "threads per rank"),
                   count("hosts", "hosts", "hosts"),
                   count("measurements", "measurements"),
                   seconds("wall_s", "measured for"),
                   text("started_utc", "started (UTC)"),
                   prose("versions", "versions")};
  struct Group {
    std::set<std::string> strategies, backends, devices;
    std::set<std::int64_t> workers, threads;
    bool workers_unknown = false;
    std::int64_t measurements = 0, cores = 0, nodes = 0;
    double wall_s = 0;
    std::string started;
    std::map<std::string, std::set<std::string>> versions;
  };
  using Key = std::tuple<std::string, std::string, std::string, std::int64_t, std::int64_t, std::int64_t, std::int64_t,
                         std::string>;
  std::map<Key, Group> groups;
  SQLite::Statement q(source.db,
                      "SELECT COALESCE(s.name, ''), m.kind, m.model, m.parameter_count, m.parameter_bytes, "
                      "m.batch_per_worker, m.accumulation, m.precision, m.strategy, m.world_size, m.backend, m.device, "
                      "m.cores, m.threads_per_rank, m.nodes, m.wall_ns, m.versions, "
                      "CASE m.started_utc_ns WHEN 0 THEN '' ELSE "
                      "strftime('%Y-%m-%dT%H:%M:%SZ', m.started_utc_ns / 1000000000, 'unixepoch') END, "
                      "EXISTS (SELECT 1 FROM diagnostic d WHERE d.measurement_id = m.id AND d.code = ?) "
                      "FROM measurement m LEFT JOIN scenario s ON s.id = m.scenario_id ORDER BY m.id");
  q.bind(1, store::world_size_unknown);
  while (q.executeStep()) {
    const auto text_at = [&](int i) { return q.getColumn(i).getString(); };
    const auto int_at = [&](int i) { return static_cast<std::int64_t>(q.getColumn(i).getInt64()); };
    Group& g = groups[{text_at(0), text_at(1), text_at(2), int_at(3), int_at(4), int_at(5), int_at(6), text_at(7)}];
    if (text_at(1) != "bench-comm") g.strategies.insert(text_at(8));
    if (int_at(18) != 0)
      g.workers_unknown = true;
    else
      g.workers.insert(int_at(9));
    g.backends.insert(text_at(10));
    g.devices.insert(text_at(11));
    g.cores = std::max(g.cores, int_at(12));
    if (int_at(13) > 0) g.threads.insert(int_at(13));
    g.nodes = std::max(g.nodes, int_at(14));
    g.wall_s += units::ns_to_s(q.getColumn(15).getDouble());
    if (g.measurements++ == 0 || text_at(17) < g.started) g.started = text_at(17);
    const auto versions = nlohmann::json::parse(text_at(16), nullptr, false);
    if (versions.is_object()) {
      for (const auto& [name, value] : versions.items()) {
        g.versions[name].insert(value.is_string() ? value.get<std::string>() : value.dump());
      }
    }
  }
  for (const auto& [key, g] : groups) {
    const auto& [scenario, kind, model, parameters, bytes, batch, accumulation, precision] = key;
    std::string versions;
    for (const auto& [name, values] : g.versions) {
      versions += (versions.empty() ? "" : ", ") + name + " " + joined(values);
    }
    std::string workers = joined(g.workers);
    if (g.workers_unknown) workers += workers.empty() ? "unknown" : ", unknown";
    const auto unless_empty = [](const std::string& s) { return s.empty() ? Cell() : Cell(s); };
    const auto unless_comm = [bench = kind == "bench-comm"](std::int64_t v) {
      return bench || v == 0 ? Cell() : Cell(v);
    };
    table.rows.push_back({unless_empty(scenario), kind, unless_empty(model), unless_comm(parameters),
                          unless_comm(bytes), unless_comm(batch), unless_comm(accumulation), unless_empty(precision),
                          unless_empty(joined(g.strategies)), workers, joined(g.backends), joined(g.devices),
                          g.cores > 0 ? Cell(g.cores) : Cell(), unless_empty(joined(g.threads)), g.nodes,
                          g.measurements, g.wall_s, unless_empty(g.started), unless_empty(versions)});
  }
  return table;
}

Table versions_table(const Source& source) {
  Table table;
  table.name = "versions";
  table.title = "Versions";
  table.empty = "No measurement in this file.";
  table.columns = {text("strategy", "strategy"), count("workers", "N", "workers"), text("name", "name"),
                   text("version", "version")};
  table.key_columns = 2;
  SQLite::Statement q(source.db,
                      "SELECT DISTINCT strategy, world_size, versions FROM measurement ORDER BY strategy, world_size, "
                      "versions");
  while (q.executeStep()) {
    const auto versions = nlohmann::json::parse(q.getColumn(2).getString(), nullptr, false);
    if (!versions.is_object()) continue;
    for (const auto& [name, value] : versions.items()) {
      table.rows.push_back({q.getColumn(0).getString(), q.getColumn(1).getInt64(), name,
                            value.is_string() ? value.get<std::string>() : value.dump()});
    }
  }
  return table;
}

}  // namespace ddpprof::report
