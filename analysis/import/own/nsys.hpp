// Restores a database from the SQLite files of `ddpprof export --format nsys`.
#pragma once

#include <filesystem>
#include <span>

#include "analysis/import/own/restore.hpp"

namespace ddpprof::import {

// An SQLite file with what restores it: not any export of Nsight Systems, nor a database of ours.
bool is_own_nsys_export(const std::filesystem::path&);

// Into a new database, in one transaction: all rows or none; finish_load() is the caller's. Of a database of several
// measurements each file has one: any number of them, which come back under the numbers that they had. Rows that are of
// no measurement (meta, scenarios, names) are in each of the files and must agree. Throws OwnExportError,
// store::DatabaseError.
Restored restore_nsys(store::Database&, std::span<const std::filesystem::path> files);

}  // namespace ddpprof::import
