// The measured steps of an import.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tests/analysis/import/load/imported.hpp"

namespace ddpprof::import {

struct MeasuredStep {
  std::int64_t duration_ns = 0, compute_ns = 0, communication_ns = 0, overlapped_ns = 0, exposed_ns = 0, samples = 0;
  std::optional<std::int64_t> device_idle_ns = std::nullopt;
};

struct Case {
  Imported imported;
  std::string strategy, device;
  std::int64_t parameter_bytes = 0, batch = 0, wall_ns = 0;
  std::vector<MeasuredStep> steps;  // of all ranks
  std::vector<std::int64_t> ranks;

  bool told(const std::string& code) const { return imported.told.count(code) > 0; }
  std::string message(const std::string& code) const {
    const auto found = imported.told.find(code);
    return found == imported.told.end() ? "" : found->second.message;
  }
};

inline Case import_case(const std::vector<std::filesystem::path>& files) {
  const Folder folder;
  Case result;
  result.imported = import_files(folder, files);
  if (!result.imported.error.empty()) return result;
  store::Database database = store::Database::open_read(folder.path() / "imported.db");
  SQLite::Statement row(database.sql(),
                        "SELECT strategy, device, parameter_bytes, batch_per_worker, wall_ns FROM measurement");
  if (row.executeStep()) {
    result.strategy = row.getColumn(0).getString();
    result.device = row.getColumn(1).getString();
    result.parameter_bytes = row.getColumn(2).getInt64();
    result.batch = row.getColumn(3).getInt64();
    result.wall_ns = row.getColumn(4).getInt64();
  }
  SQLite::Statement steps(
      database.sql(),
      "SELECT st.duration_ns, st.compute_ns, st.communication_ns, st.overlapped_ns, st.exposed_ns, "
      "st.samples, st.device_idle_ns FROM step st JOIN shard s ON s.id = st.shard_id ORDER BY s.rank, st.step");
  while (steps.executeStep()) {
    const auto number = [&](int column) { return steps.getColumn(column).getInt64(); };
    result.steps.push_back({number(0), number(1), number(2), number(3), number(4), number(5),
                            steps.getColumn(6).isNull() ? std::nullopt : std::optional(number(6))});
  }
  SQLite::Statement ranks(database.sql(), "SELECT rank FROM shard ORDER BY rank");
  while (ranks.executeStep()) result.ranks.push_back(ranks.getColumn(0).getInt64());
  return result;
}

inline Case import_text(const std::string& text) {
  const Folder folder;
  return import_case({folder.write("trace.json", text)});
}

}  // namespace ddpprof::import
