// Loads built shards into a temporary database and reads the rows as text.
#pragma once

#include <SQLiteCpp/Statement.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "analysis/ingest/ingest.hpp"
#include "tests/analysis/ingest/training_shard.hpp"

namespace ddpprof::test {

class Ingest : public ::testing::Test {
 protected:
  ingest::IngestResult load(std::vector<TrainingShard*> shards, ingest::MeasurementInfo info,
                            ingest::RawPolicy policy = ingest::RawPolicy::none) {
    std::vector<std::filesystem::path> paths;
    for (TrainingShard* shard : shards)
      paths.push_back(shard->shard.write(folder / ("shard" + std::to_string(paths.size()))));
    return ingest::ingest_measurement(database, info, paths, policy);
  }
  static ingest::MeasurementInfo ddp(std::int64_t world_size) {
    ingest::MeasurementInfo info;
    info.world_size = world_size;
    return info;
  }
  // Returns rows as "a|b|c", NULL as "-".
  std::vector<std::string> rows(const std::string& sql) {
    SQLite::Statement query(database.sql(), sql);
    std::vector<std::string> out;
    while (query.executeStep()) {
      std::string line;
      for (int i = 0; i < query.getColumnCount(); ++i) {
        if (i > 0) line += '|';
        line += query.getColumn(i).isNull() ? "-" : query.getColumn(i).getString();
      }
      out.push_back(line);
    }
    return out;
  }
  std::vector<std::string> codes() { return rows("SELECT severity || ' ' || code || ' ' || count FROM diagnostic"); }

  TemporaryFolder folder;
  store::Database database = store::Database::create(folder / "a.db");
};

}  // namespace ddpprof::test
