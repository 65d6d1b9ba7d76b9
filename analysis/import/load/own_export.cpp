#include "analysis/import/load/own_export.hpp"

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Exception.h>

#include <array>
#include <cstddef>
#include <span>
#include <string_view>
#include <system_error>

#include "analysis/import/bytes/byte_source.hpp"
#include "analysis/import/load/inputs.hpp"

namespace ddpprof::import {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view spaces = " \t\r\n";

// Returns true if `head` has the member `"ddpprof": {`, with any spaces between its parts.
bool has_marker(std::string_view head) {
  constexpr std::string_view key = "\"ddpprof\"";
  for (std::size_t at = head.find(key); at != std::string_view::npos; at = head.find(key, at + 1)) {
    const std::size_t colon = head.find_first_not_of(spaces, at + key.size());
    if (colon == std::string_view::npos || head[colon] != ':') continue;
    const std::size_t value = head.find_first_not_of(spaces, colon + 1);
    const std::size_t before = head.find_last_not_of(spaces, at - 1);
    if (value != std::string_view::npos && head[value] == '{' && before != std::string_view::npos &&
        (head[before] == '{' || head[before] == ','))
      return true;
  }
  return false;
}

bool is_csv_folder(const fs::path& path) {
  std::error_code error;
  const auto has = [&](const char* name) { return fs::is_regular_file(path / name, error); };
  return has("meta.csv") || (has("measurement.csv") && has("shard.csv"));
}

bool is_chrome_trace(const fs::path& path) {
  std::array<char, 4096> bytes{};
  std::size_t got = 0;
  try {
    got = open_bytes(path)->read(std::as_writable_bytes(std::span(bytes)));
  } catch (const OpenError&) {
    return false;
  }
  const std::string_view head(bytes.data(), got);
  // Only members before the first event count: an argument of an event may have any name.
  const std::string_view members = head.substr(0, head.find("\"traceEvents\""));
  const std::size_t first = members.find_first_not_of(" \t\r\n\xef\xbb\xbf");
  return first != std::string_view::npos && members[first] == '{' && has_marker(members);
}

}  // namespace

bool is_own_nsys_export(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return false;
  try {
    return SQLite::Database(path.string(), SQLite::OPEN_READONLY, 5000).tableExists("DDPPROF_EXPORT");
  } catch (const SQLite::Exception&) {
    return false;  // not a database, or a damaged one
  }
}

bool is_own_export(const fs::path& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) return is_csv_folder(path);
  if (!fs::is_regular_file(path, error)) return false;
  return is_chrome_trace(path) || (kind_of(path) == FileKind::sqlite && is_own_nsys_export(path));
}

}  // namespace ddpprof::import
