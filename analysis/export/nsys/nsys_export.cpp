// Exports in the format of Nsight Systems' SQLite files: one file per measurement.
#include <SQLiteCpp/Column.h>
#include <SQLiteCpp/Exception.h>
#include <SQLiteCpp/Statement.h>
#include <fmt/format.h>
#include <sqlite3.h>

#include <map>
#include <set>
#include <system_error>

#include "analysis/export/export.hpp"
#include "analysis/export/nsys/nsys_about.hpp"
#include "analysis/export/nsys/nsys_events.hpp"
#include "analysis/export/nsys/nsys_places.hpp"
#include "analysis/export/nsys/nsys_tables.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof::export_ {
namespace {

NsysCounts write_file(const std::filesystem::path& path, const std::filesystem::path& database,
                      std::int64_t measurement, bool sole) {
  NsysCounts counts;
  NsysFile file(path, database);
  create_nsight_tables(file);
  make_places(file, measurement);
  const std::int64_t base_ns = set_base(file);
  NsysNames names(file, sole);
  write_raw_events(file, counts);
  write_made_ranges(file, names, counts);
  write_domains_and_threads(file, names);
  keep_rows(file, measurement, sole, base_ns, names.last_of_database());
  write_about(file, measurement);
  fill_enums(file);
  file.finish();
  return counts;
}

// Returns true for errors of the written file. The trace database is only read.
bool is_of_writing(int code) {
  return (code & 0xff) == SQLITE_FULL || code == SQLITE_IOERR_WRITE || code == SQLITE_IOERR_TRUNCATE ||
         code == SQLITE_IOERR_FSYNC || code == SQLITE_IOERR_CLOSE;
}

}  // namespace

std::vector<NsysPart> nsys_parts(store::Database& database) {
  std::vector<NsysPart> parts;
  std::map<std::string, int> uses;
  SQLite::Statement row(database.sql(),
                        "SELECT id, CASE kind WHEN 'bench-comm' THEN kind ELSE strategy END, world_size, repeat "
                        "FROM measurement ORDER BY id");
  while (row.executeStep()) {
    std::string name = fmt::format("{}-n{}-r{}", row.getColumn(1).getString(), row.getColumn(2).getInt64(),
                                   row.getColumn(3).getInt64());
    ++uses[name];
    parts.push_back({row.getColumn(0).getInt64(), std::move(name)});
  }
  for (NsysPart& part : parts) {
    if (uses[part.file] > 1) part.file += fmt::format("-m{}", part.measurement);
    // A strategy is one word, but in a foreign database it may be a path.
    for (char& c : part.file)
      if (c == '/' || c == '\0') c = '_';
    part.file += ".sqlite";
  }
  return parts;
}

NsysSummary export_nsys(store::Database& database, const std::filesystem::path& out) {
  try {
    const std::vector<NsysPart> parts = nsys_parts(database);
    if (parts.empty())
      throw ExportError(database.path().string() +
                        ": contains no measurement to export; create one with ddpprof run or ddpprof import");
    NsysSummary summary;
    const bool sole = parts.size() == 1;
    if (!sole) {
      std::error_code error;
      std::filesystem::create_directories(out, error);
      if (error) throw ExportError(out.string() + ": cannot be made: " + error.message() + "; give a folder");
    }
    for (const NsysPart& part : parts) {
      const NsysCounts counts = write_file(sole ? out : out / part.file, database.path(), part.measurement, sole);
      ++summary.files;
      summary.events += counts.kernels + counts.copies + counts.calls + counts.ranges;
      summary.kernels += counts.kernels;
    }
    return summary;
  } catch (const SQLite::Exception& exception) {
    if (is_of_writing(exception.getExtendedErrorCode()))
      throw ExportError(out.string() + ": cannot be written: " + exception.what() + "; is the disk full?");
    throw store::translate(exception, database.path());
  }
}

}  // namespace ddpprof::export_
