#include "analysis/metrics/device_windows.hpp"

#include <SQLiteCpp/Column.h>
#include <SQLiteCpp/Statement.h>

#include "tracer/store/rows/run_rows.hpp"

namespace ddpprof::metrics {

std::vector<DeviceWindow> read_device_windows(SQLite::Database& db) {
  std::vector<DeviceWindow> all;
  SQLite::Statement query(
      db,
      "SELECT m.model, d.name, m.id, sh.rank, sh.id, sh.raw_kept, d.start_ns, d.span_ns, d.compute_ns, "
      "d.communication_ns, d.memory_ns, d.overlapped_ns, d.busy_ns, d.collective_kernels, NOT EXISTS (SELECT 1 FROM "
      "diagnostic g WHERE g.measurement_id = m.id AND g.code IN (?, ?)) FROM device_time d "
      "JOIN shard sh ON sh.id = d.shard_id JOIN measurement m ON m.id = sh.measurement_id "
      "ORDER BY m.id, sh.rank, d.name = 'all' DESC, d.start_ns, d.name");
  query.bind(1, store::device_not_recorded);
  query.bind(2, store::collective_kernels_unknown);
  while (query.executeStep()) {
    DeviceWindow window;
    window.model = query.getColumn(0).getString();
    window.name = query.getColumn(1).getString();
    int column = 2;
    for (std::int64_t* number : {&window.measurement, &window.rank, &window.shard})
      *number = query.getColumn(column++).getInt64();
    window.raw_kept = query.getColumn(column++).getInt() != 0;
    for (std::int64_t* number : {&window.start_ns, &window.span_ns, &window.compute_ns, &window.communication_ns,
                                 &window.memory_ns, &window.overlapped_ns, &window.busy_ns, &window.collective_kernels})
      *number = query.getColumn(column++).getInt64();
    window.communication_known = query.getColumn(column).getInt() != 0;
    all.push_back(std::move(window));
  }
  return all;
}

}  // namespace ddpprof::metrics
