// The table of bench-comm: the columns of nccl-tests for each N.
#include <SQLiteCpp/Statement.h>

#include <map>
#include <tuple>

#include "analysis/metrics/bus_factor.hpp"
#include "analysis/report/tables/collectives/collectives.hpp"
#include "simulator/units/units.hpp"

namespace ddpprof::report {

Table comm_table(const Source& source) {
  Table table;
  table.name = "comm";
  table.title = "All-reduce by size";
  table.note =
      "Time: the slowest rank of each iteration, then the median over the iterations with its 95 % interval. Algbw = "
      "size / time. Busbw = algbw · 2(N−1)/N for all_reduce, as in nccl-tests (GB/s = 1e9 bytes/s). Local: with N = 1 "
      "no data leaves the rank.";
  table.empty = "No bench-comm measurement in this file. Measure with: ddpprof bench-comm";
  table.columns = {text("op", "op", true),
                   text("backend", "backend", true),
                   text("device", "device", true),
                   count("workers", "N", "workers"),
                   count("bytes", "size", "bytes"),
                   count("iterations", "iterations"),
                   seconds("time_median_s", "time"),
                   seconds("time_low_s", "95 % low", "time_median_s"),
                   seconds("time_high_s", "95 % high", "time_median_s"),
                   quantity("algbw_bytes_per_s", "algbw", "bytes/s"),
                   quantity("busbw_bytes_per_s", "busbw", "bytes/s")};
  table.columns[10].scale_with = "algbw_bytes_per_s";
  table.key_columns = 5;
  using Key = std::tuple<std::string, std::string, std::string, std::int64_t, std::int64_t>;
  std::map<Key, metrics::Repeats> all;
  SQLite::Statement query(
      source.db,
      "SELECT p.op, m.backend, m.device, m.world_size, p.bytes, MAX(p.duration_ns), m.id FROM comm_point p "
      "JOIN shard sh ON sh.id = p.shard_id JOIN measurement m ON m.id = sh.measurement_id "
      "GROUP BY m.id, p.op, p.bytes, p.iteration ORDER BY m.id, p.op, p.bytes, p.iteration");
  while (query.executeStep()) {
    all[{query.getColumn(0).getString(), query.getColumn(1).getString(), query.getColumn(2).getString(),
         query.getColumn(3).getInt64(), query.getColumn(4).getInt64()}]
        .add(query.getColumn(6).getInt64(), units::ns_to_s(query.getColumn(5).getDouble()));
  }
  bool others = false;
  for (const auto& [key, times] : all) {
    const auto& [op, backend, device, workers, bytes] = key;
    others = others || op != "all_reduce";
    const stats::Interval time = times.median_interval();
    const double algbw = time.mid > 0 ? static_cast<double>(bytes) / time.mid : 0.0;
    table.rows.push_back({op_text(op, workers), backend, device, workers, bytes,
                          static_cast<std::int64_t>(times.size()), time.mid, time.low, time.high,
                          time.mid > 0 ? Cell(algbw) : Cell(),
                          time.mid > 0 ? Cell(algbw * metrics::bus_factor(op, workers)) : Cell()});
  }
  if (others) {
    table.title = "Collectives by size";
    table.note += " Busbw of all_gather, reduce_scatter and all_to_all: algbw · (N−1)/N.";
  }
  return table;
}

}  // namespace ddpprof::report
