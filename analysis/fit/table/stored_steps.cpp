#include "analysis/fit/table/stored_steps.hpp"

#include <SQLiteCpp/Exception.h>
#include <SQLiteCpp/Statement.h>

#include <nlohmann/json.hpp>

#include "tracer/store/files/error.hpp"

namespace ddpprof::fit {

std::vector<StepRow> stored_steps(store::Database& database) {
  try {
    SQLite::Statement query(
        database.sql(),
        "SELECT m.world_size, m.nodes, m.batch_per_worker, m.accumulation, m.options, "
        "st.duration_ns, st.exposed_ns, m.strategy FROM measurement m JOIN shard sh ON sh.measurement_id = m.id "
        "JOIN step st ON st.shard_id = sh.id WHERE m.kind = 'import' "
        "AND json_valid(m.options) AND json_extract(m.options, '$.source') = 'step-table' "
        "AND st.kind = 'measured' ORDER BY st.id");
    std::vector<StepRow> rows;
    while (query.executeStep()) {
      StepRow row;
      row.strategy = query.getColumn(7).getString();
      row.workers = query.getColumn(0).getInt64();
      row.nodes = query.getColumn(1).getInt64();
      row.batch_per_worker = query.getColumn(2).getInt64();
      row.accumulation = query.getColumn(3).getInt64();
      const auto options = nlohmann::json::parse(query.getColumn(4).getString(), nullptr, false);
      if (options.is_object()) {
        row.devices_per_node = options.value("devices_per_node", std::int64_t{0});
        if (options.value("sync_time", false)) row.sync_s = static_cast<double>(query.getColumn(6).getInt64()) / 1e9;
      }
      row.step_s = static_cast<double>(query.getColumn(5).getInt64()) / 1e9;
      rows.push_back(row);
    }
    return rows;
  } catch (const SQLite::Exception& error) {
    throw store::translate(error, database.path());
  }
}

}  // namespace ddpprof::fit
