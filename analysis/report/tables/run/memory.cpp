// Memory that a training used on each device.
#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>

#include <algorithm>
#include <map>
#include <optional>

#include "analysis/report/tables/run/run.hpp"
#include "tracer/store/rows/run_rows.hpp"

namespace ddpprof::report {
namespace {

// Maximum over a configuration's repeats and ranks.
struct Most {
  std::optional<std::int64_t> root_held, root_peak, others_peak, process;
};

void raise(std::optional<std::int64_t>& most, std::int64_t value) { most = std::max(most.value_or(value), value); }

std::map<std::int64_t, Most> read_memory(SQLite::Database& db) {
  std::map<std::int64_t, Most> by_measurement;
  SQLite::Statement q(db, "SELECT measurement_id, device, held_bytes, peak_bytes FROM memory");
  while (q.executeStep()) {
    Most& most = by_measurement[q.getColumn(0).getInt64()];
    const std::int64_t device = q.getColumn(1).getInt64(), peak = q.getColumn(3).getInt64();
    if (device == store::MemoryRow::whole_process) {
      raise(most.process, peak);
    } else if (device == 0) {
      if (!q.getColumn(2).isNull()) raise(most.root_held, q.getColumn(2).getInt64());
      raise(most.root_peak, peak);
    } else {
      raise(most.others_peak, peak);
    }
  }
  return by_measurement;
}

void raise(std::optional<std::int64_t>& most, const std::optional<std::int64_t>& value) {
  if (value) raise(most, *value);
}

Cell bytes_cell(const std::optional<std::int64_t>& bytes) { return bytes ? Cell(static_cast<double>(*bytes)) : Cell(); }

}  // namespace

Table memory_table(const Source& source) {
  Table table;
  table.name = "memory";
  table.title = "Memory";
  table.note =
      "Tensors on a device: bytes held after the last measured step, and the maximum during the measured steps. Device "
      "0 is the device of a DDP rank, or the root of DataParallel, which also holds the outputs of all replicas. "
      "Others: the maximum over the other replicas. Process: resident memory, including the data set and the "
      "libraries. Each value is the maximum over ranks and repeats.";
  table.empty = "No measurement recorded its memory.";
  table.columns = configuration_columns();
  const std::vector<Column> more = {
      quantity("device0_held_bytes", "device 0 held", "B"), quantity("device0_peak_bytes", "device 0 peak", "B"),
      quantity("others_peak_bytes", "others' peak", "B"), quantity("process_peak_bytes", "process peak", "B")};
  table.columns.insert(table.columns.end(), more.begin(), more.end());
  table.key_columns = configuration_column_count;
  const auto memory = read_memory(source.db);
  for (const metrics::Configuration& c : source.configurations) {
    Most most;
    bool any = false;
    for (const std::int64_t id : c.measurements) {
      const auto found = memory.find(id);
      if (found == memory.end()) continue;
      any = true;
      raise(most.root_held, found->second.root_held);
      raise(most.root_peak, found->second.root_peak);
      raise(most.others_peak, found->second.others_peak);
      raise(most.process, found->second.process);
    }
    if (!any) continue;
    Row row = configuration_cells(c);
    row.insert(row.end(), {bytes_cell(most.root_held), bytes_cell(most.root_peak), bytes_cell(most.others_peak),
                           bytes_cell(most.process)});
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace ddpprof::report
