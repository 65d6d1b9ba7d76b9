// Opens files of every kind: a database as it is, and everything else that `ddpprof import` reads through an import
// into a temporary database.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "analysis/import/load/import.hpp"
#include "gui/models/opened_file.hpp"

namespace ddpprof::gui {

// Files that the user opens: one database, or traces, tables, logs and folders of them.
struct OpenRequest {
  std::vector<std::filesystem::path> paths;
  std::vector<std::filesystem::path> logs;  // of nccl-tests, for the links that are predicted
};

// True unless the request names one database, or one file that does not exist. Reads the first bytes of the file.
bool needs_import(const OpenRequest&);

// Opens the database, or imports the files and opens the result. The imported database is removed with the last copy of
// the OpenedFile; OpenedFile::imported_from names its sources. Returns null once `stop` returns true. Throws
// std::runtime_error with what failed, why and what to do.
std::shared_ptr<const OpenedFile> open_files(const OpenRequest&, const std::function<bool()>& stop,
                                             const std::shared_ptr<import::ImportProgress>& progress);

// Bytes of the files that an import of the request reads, for its progress. 0 if this is not known.
std::uint64_t bytes_to_read(const OpenRequest&);

// Copies the imported database to `target`. Throws std::runtime_error if it cannot be written.
void save_imported(const OpenedFile&, const std::filesystem::path& target);

}  // namespace ddpprof::gui
