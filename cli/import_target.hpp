// The database that an import makes: whole or not at all.
#pragma once

#include <filesystem>
#include <string>
#include <system_error>

#include "analysis/export/temporary_file.hpp"
#include "analysis/import/load/inputs.hpp"
#include "cli/subcommand.hpp"
#include "cli/sweep.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof::cli {

// A database that is replaced takes the folder beside it along: only one that a run of ours made. Throws Failure.
inline void check_replaced_folder(const std::filesystem::path& database) {
  const std::filesystem::path folder = side_folder(database);
  if (std::filesystem::exists(folder) && !std::filesystem::exists(folder / "made-by-ddpprof"))
    throw Failure(ExitCode::usage, folder.string() + " was not made by ddpprof and is left alone",
                  "a folder with the file made-by-ddpprof", "move it, or give another file with --out");
}

// Makes the database `file` and has it filled by `fill(store::Database&)`. Where nothing could be imported no empty
// database stays behind, and one that was to be replaced stays. Throws Failure, and what `fill` throws.
template <class Fill>
store::Database imported_database(const std::string& file, bool overwrite, const Fill& fill) {
  const std::filesystem::path target = file;
  std::error_code ignored;
  try {
    if (overwrite && import::kind_of(target) == import::FileKind::ours) {
      check_replaced_folder(target);
      export_::TemporaryFile replacement(target, ".importing");
      {
        store::Database database = store::Database::create(replacement.path());
        fill(database);
        database.finish_load();
      }  // closed before it takes the other's place
      replacement.take_place();
      std::filesystem::remove_all(side_folder(target), ignored);
      return store::Database::open_write(target);
    }
    SweepOptions create;
    create.database = target;
    create.overwrite = overwrite;
    store::Database database = create_database(create).database;
    std::filesystem::remove_all(side_folder(target), ignored);  // for shards and logs: there are none
    try {
      fill(database);
      database.finish_load();
      return database;
    } catch (...) {
      std::filesystem::remove(target, ignored);
      throw;
    }
  } catch (const std::filesystem::filesystem_error& error) {
    throw Failure(ExitCode::failed, "cannot replace " + file + ": " + error.code().message());
  }
}

}  // namespace ddpprof::cli
