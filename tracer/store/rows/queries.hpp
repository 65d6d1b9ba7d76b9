// The rows that several readers of a database need, each selected in one place. Reports that join tables have queries of
// their own.
//
// All functions throw SQLite::Exception.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tracer/store/rows/reader.hpp"
#include "tracer/store/rows/rows.hpp"

namespace ddpprof::store {

// The steps of a rank and their parts.
class StepReader {
 public:
  explicit StepReader(SQLite::Database&);

  std::vector<StepRow> steps(std::int64_t shard_id);                       // by start, then id
  std::vector<PhaseRow> phases(std::int64_t step_id);                      // in the order of insertion
  std::vector<GradReadyRow> gradients(std::int64_t step_id);               // by time, then parameter
  std::vector<CollectiveRow> collectives_of_shard(std::int64_t shard_id);  // by start (launch if it never started)
  std::vector<CollectiveRow> collectives_of_step(std::int64_t step_id);    // in the same order

 private:
  Reader<StepRow> steps_;
  Reader<PhaseRow> phases_;
  Reader<GradReadyRow> gradients_;
  Reader<CollectiveRow> of_shard_, of_step_;
};

std::vector<ShardRow> read_shards(SQLite::Database&);                               // of all measurements, by id
std::vector<ShardRow> read_shards(SQLite::Database&, std::int64_t measurement_id);  // by rank, then id

std::vector<ParameterRow> read_parameters(SQLite::Database&, std::int64_t measurement_id);  // by number

std::vector<ScenarioRow> read_scenarios(SQLite::Database&);  // by id: the last one is the latest

std::optional<std::string> read_meta(SQLite::Database&, const std::string& key);

std::vector<std::pair<std::int64_t, std::string>> read_strings(SQLite::Database&);  // id and text

// Returns the largest rowid of `table`, 0 for an empty table.
std::int64_t last_row(SQLite::Database&, std::string_view table);

}  // namespace ddpprof::store
