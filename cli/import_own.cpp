#include "cli/import_own.hpp"

#include <SQLiteCpp/Column.h>
#include <SQLiteCpp/Statement.h>
#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <system_error>

#include "analysis/import/bytes/byte_source.hpp"
#include "analysis/import/load/import.hpp"
#include "analysis/import/load/inputs.hpp"
#include "analysis/import/own/nsys.hpp"
#include "analysis/import/own/restore.hpp"
#include "cli/database_file.hpp"
#include "cli/import_target.hpp"
#include "runner/scenario_queries/report.hpp"

namespace ddpprof::cli {
namespace {

namespace fs = std::filesystem;

std::optional<OwnFormat> format_of(const fs::path& path) {
  switch (import::own_export_kind(path)) {
    case import::OwnExport::csv:
      return OwnFormat::csv;
    case import::OwnExport::chrome:
      return OwnFormat::chrome;
    case import::OwnExport::none:
      break;
  }
  if (import::kind_of(path) == import::FileKind::sqlite && import::is_own_nsys_export(path)) return OwnFormat::nsys;
  return std::nullopt;
}

std::vector<fs::path> files_of(const std::string& name) {
  if (format_of(name)) return {name};
  try {
    return import::expand_inputs({name});
  } catch (const import::ImportError&) {
    return {name};  // the import of traces says what is wrong with it
  }
}

// Whether the database holds nothing but measurements of others.
bool holds_an_import(store::Database& database) {
  SQLite::Statement kinds(database.sql(), "SELECT COUNT(*) > 0 AND MIN(kind = 'import') = 1 FROM measurement");
  return kinds.executeStep() && kinds.getColumn(0).getInt() == 1;
}

// What an earlier run left beside the database is removed with it.
void check_apart(const OwnExports& exports, const fs::path& database) {
  std::error_code error;
  const fs::path taken = fs::weakly_canonical(fs::absolute(measure::side_folder(database)), error);
  for (const fs::path& path : exports.paths) {
    const fs::path whole = fs::weakly_canonical(fs::absolute(path), error);
    if (std::mismatch(taken.begin(), taken.end(), whole.begin(), whole.end()).first == taken.end())
      throw Failure(
          ExitCode::usage,
          fmt::format("--out: {} would stand in the way of {}, which is imported", taken.string(), path.string()),
          "a database beside it", "give another file");
  }
}

// Not "import::Restored": clang-format takes a line that begins with `import` for a module's.
ddpprof::import::Restored restore(const OwnExports& exports, store::Database& into) {
  switch (exports.format) {
    case OwnFormat::csv:
      return import::restore_csv(into, exports.paths.front());
    case OwnFormat::chrome:
      return import::restore_chrome(into, exports.paths.front());
    case OwnFormat::nsys:
      break;
  }
  return import::restore_nsys(into, exports.paths);
}

}  // namespace

std::optional<OwnExports> own_exports(const std::vector<std::string>& inputs) {
  std::optional<OwnExports> found;
  std::string other;
  for (const std::string& name : inputs)
    for (const fs::path& file : files_of(name)) {
      const std::optional<OwnFormat> format = format_of(file);
      if (!format) {
        other = file.string();
      } else if (!found) {
        found = OwnExports{*format, {file}};
      } else if (found->format == OwnFormat::nsys && *format == OwnFormat::nsys) {
        found->paths.push_back(file);
      } else {
        throw Failure(
            ExitCode::usage,
            fmt::format("{} and {} are both exports of ddpprof", found->paths.front().string(), file.string()),
            "one export, which is a whole database",
            "import each into a database of its own; 'ddpprof compare' puts databases side by side");
      }
    }
  if (found && !other.empty())
    throw Failure(
        ExitCode::usage, fmt::format("{} is an export of ddpprof, {} is not", found->paths.front().string(), other),
        "an export alone, which is a whole database, or other files", "import each into a database of its own");
  return found;
}

ExitCode import_own(const OwnExports& exports, const std::string& file, bool overwrite, report::Format format,
                    Context& context) {
  check_apart(exports, file);
  try {
    import::Restored restored;
    ImportedDatabase made =
        imported_database(file, overwrite, [&](store::Database& into) { restored = restore(exports, into); });
    if (!context.quiet) {
      context.messages << fmt::format("ddpprof import: {} rows of {} table{} restored\n", restored.rows,
                                      restored.tables, restored.tables == 1 ? "" : "s");
      for (const std::string& name : restored.left_out)
        context.messages << "ddpprof import: " << name << " is no table and was left out\n";
    }
    render(scenario_queries::build_report(made.database, holds_an_import(made.database) ? "imported" : "summary"),
           format, context.out, context.width);
    if (!context.quiet) context.messages << "database: " << file << '\n';
    return ExitCode::done;
  } catch (const import::OpenError& error) {
    throw Failure(ExitCode::usage, error.what());
  } catch (const import::OwnExportError& error) {
    throw Failure(ExitCode::data, error.what());
  } catch (const store::DatabaseError& error) {
    throw failure_of(error);
  }
}

}  // namespace ddpprof::cli
