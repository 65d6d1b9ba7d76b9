#include "tracer/store/rows/queries.hpp"

#include <SQLiteCpp/Database.h>
#include <fmt/format.h>

namespace ddpprof::store {

constexpr std::string_view in_order_of_start = "ORDER BY COALESCE(start_ns, launch_ns), sequence, communicator, rowid";

StepReader::StepReader(SQLite::Database& database)
    : steps_(database, "WHERE shard_id = ? ORDER BY start_ns, id"),
      phases_(database, "WHERE step_id = ? ORDER BY rowid"),
      gradients_(database, "WHERE step_id = ? ORDER BY ready_ns, parameter, rowid"),
      of_shard_(database, fmt::format("WHERE shard_id = ? {}", in_order_of_start)),
      of_step_(database, fmt::format("WHERE step_id = ? {}", in_order_of_start)) {}

std::vector<StepRow> StepReader::steps(std::int64_t shard_id) { return steps_.read(shard_id); }
std::vector<PhaseRow> StepReader::phases(std::int64_t step_id) { return phases_.read(step_id); }
std::vector<GradReadyRow> StepReader::gradients(std::int64_t step_id) { return gradients_.read(step_id); }
std::vector<CollectiveRow> StepReader::collectives_of_shard(std::int64_t shard_id) { return of_shard_.read(shard_id); }
std::vector<CollectiveRow> StepReader::collectives_of_step(std::int64_t step_id) { return of_step_.read(step_id); }

std::vector<ShardRow> read_shards(SQLite::Database& database) {
  return Reader<ShardRow>(database, "ORDER BY id").read();
}

std::vector<ShardRow> read_shards(SQLite::Database& database, std::int64_t measurement_id) {
  return Reader<ShardRow>(database, "WHERE measurement_id = ? ORDER BY rank, id").read(measurement_id);
}

std::vector<ParameterRow> read_parameters(SQLite::Database& database, std::int64_t measurement_id) {
  return Reader<ParameterRow>(database, "WHERE measurement_id = ? ORDER BY parameter").read(measurement_id);
}

std::vector<ScenarioRow> read_scenarios(SQLite::Database& database) {
  return Reader<ScenarioRow>(database, "ORDER BY id").read();
}

std::optional<std::string> read_meta(SQLite::Database& database, const std::string& key) {
  std::vector<MetaRow> rows = Reader<MetaRow>(database, "WHERE key = ?").read(key);
  return rows.empty() ? std::nullopt : std::optional(std::move(rows.front().value));
}

std::vector<std::pair<std::int64_t, std::string>> read_strings(SQLite::Database& database) {
  SQLite::Statement query(database, "SELECT id, value FROM string");
  std::vector<std::pair<std::int64_t, std::string>> strings;
  while (query.executeStep()) strings.emplace_back(query.getColumn(0).getInt64(), query.getColumn(1).getString());
  return strings;
}

std::int64_t last_row(SQLite::Database& database, std::string_view table) {
  return database.execAndGet(fmt::format("SELECT COALESCE(MAX(rowid), 0) FROM \"{}\"", table)).getInt64();
}

}  // namespace ddpprof::store
