// Restores a database from an export of ours: a folder of CSV tables, or a Chrome trace that carries what viewers do
// not show.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "analysis/import/own/error.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof::import {

enum class OwnExport {
  none,    // not ours
  csv,     // a folder with the tables of `ddpprof export --format csv`
  chrome,  // a file of `ddpprof export --format chrome`, plain or compressed
};
// By what a path holds, whatever its name. A folder is ours that has meta.csv, or measurement.csv beside shard.csv; a
// file whose first member, or one in its first 4 KiB, is "ddpprof".
OwnExport own_export_kind(const std::filesystem::path&);

struct Restored {
  std::int64_t rows = 0, tables = 0;  // tables that have rows
  std::vector<std::string> left_out;  // what of a folder is no table
};

// Into a new database, in one transaction: all rows or none; finish_load() is the caller's. Throws OwnExportError,
// store::DatabaseError, and OpenError for a file that cannot be read at all.
Restored restore_csv(store::Database&, const std::filesystem::path& folder);
Restored restore_chrome(store::Database&, const std::filesystem::path& file);

}  // namespace ddpprof::import
