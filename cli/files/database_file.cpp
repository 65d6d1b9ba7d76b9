#include "cli/files/database_file.hpp"

#include <fmt/format.h>

#include <array>
#include <fstream>
#include <ostream>

namespace ddpprof::cli {
namespace {

// Returns the number in the header of an SQLite file that is `PRAGMA user_version`
// (https://www.sqlite.org/fileformat.html, section 1.3); 0 if the file has no header. Opening the file would update it.
int stored_version(const std::string& file) {
  std::array<unsigned char, 64> header{};
  std::ifstream(file, std::ios::binary).read(reinterpret_cast<char*>(header.data()), header.size());
  return header[60] << 24 | header[61] << 16 | header[62] << 8 | header[63];
}

}  // namespace

store::Database open_database(const std::string& file, std::string_view subcommand, const Context& context) {
  const int version = stored_version(file);
  store::Database database = store::Database::open_read(file);
  if (version > 0 && version < store::schema_version && !context.quiet)
    context.messages << fmt::format(
        "ddpprof {}: {} was updated from schema version {} to {}: the older ddpprof that wrote it cannot open it any "
        "more\n",
        subcommand, file, version, store::schema_version);
  return database;
}

}  // namespace ddpprof::cli
