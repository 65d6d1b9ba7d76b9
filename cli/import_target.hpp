// The database that an import makes: whole or not at all.
#pragma once

#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "analysis/export/temporary_file.hpp"
#include "analysis/import/load/inputs.hpp"
#include "cli/subcommand.hpp"
#include "runner/measure/sweep.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof::cli {

struct ImportedDatabase {
  measure::SideFolder folder;  // held for as long as the import works, and then gone: it has no shards and logs
  store::Database database;
};

// Makes the database `file` and has it filled by `fill(store::Database&)`. Where nothing could be imported no empty
// database stays behind, and one that was to be replaced stays, with the folder beside it. Throws Failure, also where
// another run or import holds it, store::DatabaseError where another process writes to it, and what `fill` throws.
template <class Fill>
ImportedDatabase imported_database(const std::string& file, bool overwrite, const Fill& fill) {
  const std::filesystem::path target = file;
  try {
    if (overwrite && import::kind_of(target) == import::FileKind::ours) {
      measure::SideFolder folder(measure::side_folder(target));
      folder.make();
      export_::TemporaryFile replacement(target, ".importing");
      {
        store::Database database = store::Database::create(replacement.path());
        fill(database);
        database.finish_load();
      }  // closed before it takes the other's place
      store::Database::replace(target, [&] { replacement.take_place(); });
      folder.remove_at_end();
      return {std::move(folder), store::Database::open_write(target)};
    }
    measure::SweepOptions create;
    create.database = target;
    create.overwrite = overwrite;
    measure::SweepTarget made = measure::create_database(create);
    made.folder.remove_at_end();
    try {
      fill(made.database);
      made.database.finish_load();
      return {std::move(made.folder), std::move(made.database)};
    } catch (...) {
      std::error_code ignored;
      std::filesystem::remove(target, ignored);
      throw;
    }
  } catch (const std::filesystem::filesystem_error& error) {
    throw Failure(ExitCode::failed, "cannot replace " + file + ": " + error.code().message());
  }
}

}  // namespace ddpprof::cli
