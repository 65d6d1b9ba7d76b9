// The database that an import makes: whole or not at all.
#pragma once

#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "analysis/import/load/inputs.hpp"
#include "cli/subcommand.hpp"
#include "cli/sweep.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof::cli {

// Makes the database `file` and has it filled by `fill(store::Database&)`. Where nothing could be imported no empty
// database stays behind, and one that was to be replaced stays. Throws Failure, and what `fill` throws.
template <class Fill>
store::Database imported_database(const std::string& file, bool overwrite, const Fill& fill) {
  const std::filesystem::path target = file;
  const bool replaces = overwrite && import::kind_of(target) == import::FileKind::ours;
  SweepOptions create;
  create.database = replaces ? std::filesystem::path(file + ".importing") : target;
  create.overwrite = overwrite;
  std::error_code ignored;
  try {
    store::Database database = create_database(create);
    std::filesystem::remove_all(side_folder(create.database), ignored);  // for shards and logs: there are none
    try {
      fill(database);
      database.finish_load();
      if (!replaces) return database;
      store::Database(std::move(database));  // closed before it takes the other's place
      std::filesystem::rename(create.database, target);
      std::filesystem::remove_all(side_folder(target), ignored);
      return store::Database::open_write(target);
    } catch (...) {
      std::filesystem::remove(create.database, ignored);
      throw;
    }
  } catch (const std::filesystem::filesystem_error& error) {
    throw Failure(ExitCode::failed, "cannot replace " + file + ": " + error.code().message());
  }
}

}  // namespace ddpprof::cli
