// Files of other profilers, of one or several ranks, imported into a database: a measurement with consistent rows, or
// an error message and an empty database.
#include "analysis/import/load/import.hpp"

#include <SQLiteCpp/Exception.h>
#include <SQLiteCpp/Statement.h>

#include <algorithm>
#include <string>

#include "analysis/import/bytes/byte_source.hpp"
#include "tests/fuzz/all_rows.hpp"
#include "tests/fuzz/empty_database.hpp"
#include "tests/fuzz/fuzz_target.hpp"

using namespace ddpprof;

namespace {

void read_views(store::Database& database) {
  for (const store::View& view : store::views()) try {
      SQLite::Statement query(database.sql(), "SELECT * FROM \"" + std::string(view.name) + "\"");
      while (query.executeStep()) {
      }
    } catch (const SQLite::Exception& error) {
      fuzz::require(false, std::string("view ") + std::string(view.name) + " is read to its end: " + error.what());
    }
}

void check_imported(store::Database& database, const import::ImportResult& result) {
  const auto count = [&](const std::string& query) { return database.sql().execAndGet(query).getInt64(); };
  fuzz::require(count("SELECT count(*) FROM measurement") == 1, "one measurement is made");
  fuzz::require(count("SELECT count(*) FROM shard") == result.ranks && result.ranks > 0, "a shard for each rank");
  fuzz::require(count("SELECT count(DISTINCT rank) FROM shard") == result.ranks, "a rank has one shard");
  fuzz::require(result.world_size == 0 || count("SELECT max(rank) FROM shard") < result.world_size,
                "ranks are below the world size, if it is known");
  fuzz::require(count("SELECT count(*) FROM step WHERE duration_ns < 0 OR skew_ns < 0 OR skew_ns > duration_ns") == 0,
                "a step lasts, and the waiting in it is a part of it");
  fuzz::require(count("SELECT count(*) FROM step WHERE overlapped_ns < 0 OR exposed_ns < 0 OR overlapped_ns + "
                      "exposed_ns <> communication_ns OR communication_ns > duration_ns") == 0,
                "a step's communication is overlapped or exposed, and a part of it");
  fuzz::require(count("SELECT count(*) FROM diagnostic WHERE message = '' OR count < 1") == 0,
                "a diagnostic says what it is and how often");
  SQLite::Statement dangling(database.sql(), "PRAGMA foreign_key_check");
  fuzz::require(!dangling.executeStep(), "no row refers to one that is not there");
  read_views(database);
}

}  // namespace

// The first byte: 1 without raw events, 2 with a given batch size. The files follow, at most four, with a byte 0x1e
// between them.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::Folder folder;
  if (size == 0) return 0;
  import::ImportOptions options;
  options.keep_raw = (data[0] & 1) == 0;
  if ((data[0] & 2) != 0) options.batch_per_worker = 32;
  options.temporary_folder = folder.path();
  options.threads = 1;
  std::string_view input = fuzz::text_of(data + 1, size - 1);
  for (int rank = 0; rank < 4; ++rank) {
    const std::size_t end = std::min(input.find('\x1e'), input.size());
    options.files.push_back(folder.file("rank" + std::to_string(rank), input.substr(0, end)));
    if (end == input.size()) break;
    input.remove_prefix(end + 1);
  }
  store::Database& database = fuzz::empty_database();
  static const std::string nothing = fuzz::all_rows(database);
  try {
    check_imported(database, import::import_traces(database, options));
  } catch (const import::ImportError&) {
    fuzz::require(fuzz::all_rows(database) == nothing, "what is refused leaves nothing");
  } catch (const import::OpenError&) {
    fuzz::require(fuzz::all_rows(database) == nothing, "what is refused leaves nothing");
  }
  return 0;
}
