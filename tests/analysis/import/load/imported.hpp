// Files for the duration of a test, and the result of importing them.
#pragma once

#include <SQLiteCpp/Statement.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analysis/import/bytes/byte_source.hpp"
#include "analysis/import/load/import.hpp"
#include "analysis/import/load/inputs.hpp"
#include "analysis/import/sort/run_file.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof::import {

class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "ddpprof-load-XXXXXX").string();
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    path_ = name;
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::filesystem::path& path() const { return path_; }

  std::filesystem::path write(const std::string& name, std::string_view content) const {
    std::ofstream(path_ / name, std::ios::binary).write(content.data(), static_cast<std::streamsize>(content.size()));
    return path_ / name;
  }

 private:
  std::filesystem::path path_;
};

struct Told {
  std::string severity, message;
  std::int64_t count = 0;
};

struct DeviceTotals {
  std::int64_t compute_ns = 0, communication_ns = 0, memory_ns = 0, overlapped_ns = 0, busy_ns = 0, kernels = 0,
               collective_kernels = 0, span_ns = 0;
  bool operator==(const DeviceTotals&) const = default;
};

struct Imported {
  std::string error;  // empty: it was imported
  ImportResult result;
  std::multimap<std::string, Told> told;                               // by code
  std::map<std::int64_t, std::map<std::string, DeviceTotals>> totals;  // by rank, by window
  std::map<std::string, std::int64_t> rows;                            // number of rows of some tables

  std::map<std::string, std::int64_t> counts() const {
    std::map<std::string, std::int64_t> counts;
    for (const auto& [code, one] : told) counts[code] += one.count;
    return counts;
  }
  DeviceTotals all() const {  // sum over all ranks
    DeviceTotals sum;
    for (const auto& [rank, windows] : totals)
      if (const auto found = windows.find("all"); found != windows.end()) {
        sum.compute_ns += found->second.compute_ns;
        sum.communication_ns += found->second.communication_ns;
        sum.memory_ns += found->second.memory_ns;
        sum.overlapped_ns += found->second.overlapped_ns;
        sum.busy_ns += found->second.busy_ns;
        sum.kernels += found->second.kernels;
        sum.collective_kernels += found->second.collective_kernels;
      }
    return sum;
  }
};

inline Imported import_into(store::Database& database, const ImportOptions& options) {
  Imported imported;
  try {
    imported.result = import_traces(database, options);
  } catch (const ImportError& error) {
    imported.error = error.what();
  } catch (const OpenError& error) {
    imported.error = error.what();
  } catch (const TemporaryFileError& error) {
    imported.error = error.what();
  }
  const auto rows = [&](const std::string& sql, auto&& take) {
    SQLite::Statement query(database.sql(), sql);
    while (query.executeStep()) take(query);
  };
  rows("SELECT code, severity, message, count FROM diagnostic", [&](SQLite::Statement& row) {
    imported.told.emplace(row.getColumn(0).getString(), Told{row.getColumn(1).getString(), row.getColumn(2).getString(),
                                                             row.getColumn(3).getInt64()});
  });
  rows(
      "SELECT s.rank, d.name, compute_ns, communication_ns, memory_ns, overlapped_ns, busy_ns, kernels, "
      "collective_kernels, span_ns FROM device_time d JOIN shard s ON s.id = d.shard_id",
      [&](SQLite::Statement& row) {
        const auto number = [&](int column) { return row.getColumn(column).getInt64(); };
        imported.totals[number(0)][row.getColumn(1).getString()] = {number(2), number(3), number(4), number(5),
                                                                    number(6), number(7), number(8), number(9)};
      });
  for (const char* table : {"measurement", "shard", "step", "collective", "kernel", "range", "api_call", "memcpy"})
    rows(std::string("SELECT count(*) FROM \"") + table + "\"",
         [&](SQLite::Statement& row) { imported.rows[table] = row.getColumn(0).getInt64(); });
  return imported;
}

inline Imported import_files(const Folder& folder, std::vector<std::filesystem::path> files,
                             ImportOptions options = {}) {
  store::Database database = store::Database::create(folder.path() / "imported.db", store::Replace::yes);
  options.files = std::move(files);
  return import_into(database, options);
}

}  // namespace ddpprof::import
