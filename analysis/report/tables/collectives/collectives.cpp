// Inside a step: collectives.
#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "analysis/metrics/bus_factor.hpp"
#include "analysis/report/tables/collectives/collectives.hpp"
#include "simulator/stats/summary.hpp"
#include "simulator/units/units.hpp"

namespace ddpprof::report {

Table collectives_table(const Source& source) {
  Table table = table_of_configurations(
      "collectives", "Collectives in measured steps",
      "Collectives of different ranks are matched by (communicator, sequence number). Values are means over the ranks, "
      "then medians over the collectives. Transfer = shortest duration over the ranks. Skew = duration − transfer. "
      "Algbw = bytes / transfer. Busbw = algbw · 2(N−1)/N for all_reduce. Wait for launch: from the last gradient "
      "being ready to the hand-over to the backend. Queue: from there until the backend's thread or kernel starts. "
      "Local: with N = 1 nothing is transferred, so the bandwidth is empty.");
  table.empty =
      "No collective was recorded inside a measured step. DataParallel (dp) and N = 1 without DDP have no collectives.";
  table.key_columns += 3;
  append(table, {text("op", "op", true), count("bucket", "bucket"), count("bytes", "size", "bytes")});
  const bool chosen =
      source.db
          .execAndGet("SELECT EXISTS (SELECT 1 FROM collective WHERE algorithm IS NOT NULL OR protocol IS NOT NULL)")
          .getInt() != 0;
  if (chosen) {  // known only for NCCL with its profiler plugin
    table.key_columns += 2;
    append(table, {text("algorithm", "algorithm", true), text("protocol", "protocol", true),
                   text("channels", "channels", true), text("datatype", "type", true)});
  }
  append(table,
         {count("collectives", "count"), seconds("launch_delay_s", "wait for launch"), seconds("queue_s", "queue"),
          seconds("duration_s", "duration"), seconds("transfer_s", "transfer", "duration_s"),
          seconds("skew_s", "skew", "duration_s"), quantity("algbw_bytes_per_s", "algbw", "bytes/s"),
          quantity("busbw_bytes_per_s", "busbw", "bytes/s"), count("unfinished", "unfinished")});
  table.columns.back().hide_zero = true;
  struct Kept {
    std::vector<double> delay, queue, duration, transfer, skew;
    std::int64_t collectives = 0, unfinished = 0;
    std::set<std::int64_t> channels;
    std::set<std::string> datatypes;
  };
  using Key = std::tuple<std::string, std::int64_t, std::int64_t, std::string, std::string>;  // op … protocol
  std::map<std::size_t, std::map<Key, Kept>> all;
  const auto of = configuration_of_measurement(source);
  SQLite::Statement query(source.db,
                          "SELECT sh.measurement_id, c.op, c.bucket, c.bytes, AVG(c.launch_ns - c.ready_ns), "
                          "AVG(c.start_ns - c.launch_ns), "
                          "AVG(c.end_ns - c.start_ns), MAX(c.transfer_ns), AVG(c.skew_ns), SUM(c.end_ns IS NULL), "
                          "COALESCE(MAX(c.algorithm), ''), COALESCE(MAX(c.protocol), ''), MIN(c.channels), "
                          "MAX(c.channels), MAX(c.datatype) "
                          "FROM collective c JOIN step st ON st.id = c.step_id JOIN shard sh ON sh.id = c.shard_id "
                          "WHERE st.kind = 'measured' GROUP BY sh.measurement_id, c.communicator, c.sequence "
                          "ORDER BY sh.measurement_id, c.communicator, c.sequence");
  while (query.executeStep()) {
    const auto found = of.find(query.getColumn(0).getInt64());
    if (found == of.end()) continue;
    Kept& kept = all[found->second]
                    [{query.getColumn(1).getString(), query.getColumn(2).getInt64(), query.getColumn(3).getInt64(),
                      query.getColumn(10).getString(), query.getColumn(11).getString()}];
    for (const int column : {12, 13})
      if (!query.getColumn(column).isNull()) kept.channels.insert(query.getColumn(column).getInt64());
    if (!query.getColumn(14).isNull()) kept.datatypes.insert(query.getColumn(14).getString());
    ++kept.collectives;
    kept.unfinished += query.getColumn(9).getInt64();
    int column = 4;
    for (auto* values : {&kept.delay, &kept.queue, &kept.duration, &kept.transfer, &kept.skew}) {
      if (!query.getColumn(column).isNull()) values->push_back(units::ns_to_s(query.getColumn(column).getDouble()));
      ++column;
    }
  }
  for (const auto& [index, kinds] : all) {
    const metrics::Configuration& c = source.configurations[index];
    for (const auto& [key, kept] : kinds) {
      const auto& [op, bucket, bytes, algorithm, protocol] = key;
      Row row = configuration_cells(c);
      row.insert(row.end(), {op_text(op, c.world_size), bucket, bytes});
      if (chosen) {
        std::string channels;
        if (!kept.channels.empty()) {
          channels = std::to_string(*kept.channels.begin());
          if (kept.channels.size() > 1) channels += "–" + std::to_string(*kept.channels.rbegin());
        }
        row.insert(row.end(), {algorithm, protocol, channels, fmt::format("{}", fmt::join(kept.datatypes, ", "))});
      }
      row.insert(row.end(), {kept.collectives, median_cell(kept.delay), median_cell(kept.queue),
                             median_cell(kept.duration), median_cell(kept.transfer), median_cell(kept.skew)});
      const double transfer = kept.transfer.empty() ? 0.0 : stats::median(kept.transfer);
      const double algbw = transfer > 0 && c.world_size > 1 ? static_cast<double>(bytes) / transfer : 0.0;
      const double factor = metrics::bus_factor(op, c.world_size);
      row.push_back(algbw > 0 ? Cell(algbw) : Cell());
      row.push_back(algbw > 0 && factor > 0 ? Cell(algbw * factor) : Cell());
      row.emplace_back(kept.unfinished);
      table.rows.push_back(std::move(row));
    }
  }
  return table;
}

}  // namespace ddpprof::report
