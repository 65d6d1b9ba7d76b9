#include "cli/jobs/imported_database.hpp"

#include <SQLiteCpp/Statement.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "analysis/export/temporary_file.hpp"
#include "analysis/fit/table/stored_steps.hpp"
#include "analysis/import/load/inputs.hpp"
#include "cli/failure.hpp"
#include "runner/measure/sweep.hpp"

namespace ddpprof::cli {
namespace {

namespace fs = std::filesystem;

void replace(const fs::path& target, const FillDatabase& fill, const FillDatabase& finish) {
  measure::SideFolder folder(measure::side_folder(target));
  folder.make();
  export_::TemporaryFile replacement(target, ".importing");
  {
    store::Database database = store::Database::create(replacement.path());
    fill(database);
    database.finish_load();
  }  // closed before it replaces the old database
  store::Database::replace(target, [&] { replacement.take_place(); });
  folder.remove_at_end();
  store::Database database = store::Database::open_write(target);
  finish(database);
}

void make(const fs::path& target, bool overwrite, const FillDatabase& fill, const FillDatabase& finish) {
  measure::SweepOptions create;
  create.database = target;
  create.overwrite = overwrite;
  measure::SweepTarget made = measure::create_database(create);
  made.folder.remove_at_end();  // an import has neither shards nor logs
  try {
    fill(made.database);
    made.database.finish_load();
  } catch (...) {
    std::error_code ignored;
    fs::remove(target, ignored);
    throw;
  }
  finish(made.database);
}

void check_measurements(store::Database& database) {
  const std::string name = database.path().string();
  SQLite::Statement measured(database.sql(), "SELECT count(*) FROM measurement WHERE kind = 'train'");
  measured.executeStep();
  if (measured.getColumn(0).getInt64() > 0)
    throw Failure(ExitCode::usage, "cannot add traces to " + name + ": it has measurements of ddpprof's own training",
                  "a database of ddpprof import or ddpprof record", "give --out, to make a database of its own");
  if (!fit::stored_steps(database).empty())
    throw Failure(ExitCode::usage, "cannot add traces to " + name + ": it has a table of step times",
                  "a database of ddpprof import or ddpprof record", "give --out, to make a database of its own");
}

}  // namespace

void make_database(const std::string& file, bool overwrite, const FillDatabase& fill, const FillDatabase& finish) {
  const fs::path target = file;
  try {
    if (overwrite && import::kind_of(target) == import::FileKind::ours)
      replace(target, fill, finish);
    else
      make(target, overwrite, fill, finish);
  } catch (const fs::filesystem_error& error) {
    throw Failure(ExitCode::failed, "cannot replace " + file + ": " + error.code().message());
  }
}

void check_appendable(const std::string& file) {
  std::error_code error;
  if (!fs::exists(file, error))
    throw Failure(ExitCode::usage, "--append: there is no " + file, "a database of ddpprof import or ddpprof record",
                  "give --out to make a new one");
  if (import::kind_of(file) != import::FileKind::ours)
    throw Failure(ExitCode::usage, "--append: " + file + " is not a database of ddpprof",
                  "a database of ddpprof import or ddpprof record", "give --out to make a new one");
  store::Database database = store::Database::open_write(file);  // also rolls back a killed load
  check_measurements(database);
}

void append_to_database(const std::string& file, const FillDatabase& fill, const FillDatabase& finish) {
  const fs::path target = file;
  try {
    measure::SideFolder folder(measure::side_folder(target));
    folder.make();  // the lock against other runs and imports
    check_appendable(file);
    const fs::file_time_type copied = fs::last_write_time(target);
    export_::TemporaryFile copy(target, ".appending");
    fs::copy_file(target, copy.path(), fs::copy_options::overwrite_existing);
    {
      store::Database database = store::Database::open_write(copy.path());
      fill(database);
      database.finish_load();
      finish(database);
    }  // closed before it replaces the old database
    store::Database::replace(target, [&] {
      if (fs::last_write_time(target) != copied)
        throw Failure(ExitCode::failed, file + " was changed by another process meanwhile: nothing was added to it", "",
                      "repeat the command");
      copy.take_place();
    });
  } catch (const fs::filesystem_error& error) {
    throw Failure(ExitCode::failed, "cannot add to " + file + ": " + error.code().message());
  }
}

}  // namespace ddpprof::cli
