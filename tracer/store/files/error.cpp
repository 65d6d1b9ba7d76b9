#include "tracer/store/files/error.hpp"

#include <SQLiteCpp/Exception.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/resource.h>

#include <cstdint>
#include <optional>

#include "tracer/store/files/sealed_files.hpp"

namespace ddpprof::store {
namespace {

// Returns the limit of a file's size (ulimit -f), or nullopt without a limit.
std::optional<std::uint64_t> limit_of_files() {
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return limit.rlim_cur;
}

}  // namespace

const char* to_string(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::missing:
      return "missing";
    case ErrorKind::exists:
      return "exists";
    case ErrorKind::not_sqlite:
      return "not_sqlite";
    case ErrorKind::foreign:
      return "foreign";
    case ErrorKind::older_version:
      return "older_version";
    case ErrorKind::newer_version:
      return "newer_version";
    case ErrorKind::locked:
      return "locked";
    case ErrorKind::corrupt:
      return "corrupt";
    case ErrorKind::io:
      return "io";
  }
  return "unknown";
}

DatabaseError translate(int result, const std::string& message, const std::filesystem::path& path) {
  const std::string file = path.string();
  if (result == SQLITE_IOERR_DATA)
    return {
        ErrorKind::corrupt, path,
        fmt::format("{}: the database is damaged, or another program edited it (a page does not match its seal); "
                    "measure again, or restore a copy. {}=ignore reads it without the check; numbers may then be wrong",
                    file, seals_variable)};
  switch (result & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return {ErrorKind::locked, path,
              fmt::format("{}: another process is writing to this database ({}); wait for it to end, or write to "
                          "another file",
                          file, message)};
    case SQLITE_CORRUPT:
      return {ErrorKind::corrupt, path,
              fmt::format("{}: the database is damaged ({}); measure again, or restore a copy", file, message)};
    case SQLITE_NOTADB:
      return {ErrorKind::not_sqlite, path,
              fmt::format("{}: not an SQLite database ({}); expected a file written by ddpprof", file, message)};
    case SQLITE_FULL:
      return {ErrorKind::io, path, fmt::format("{}: the disk is full ({}); free space and try again", file, message)};
    case SQLITE_IOERR:
      if (const std::optional<std::uint64_t> limit = limit_of_files(); limit && result == SQLITE_IOERR_WRITE)
        return {ErrorKind::io, path,
                fmt::format("{}: cannot be written: files may have {} bytes at most; raise the limit (ulimit -f), or "
                            "write to another folder",
                            file, *limit)};
      return {ErrorKind::io, path, fmt::format("{}: SQLite failed: {} (code {})", file, message, result)};
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return {
          ErrorKind::io, path,
          fmt::format("{}: no permission to write ({}); check the file's and its folder's permissions", file, message)};
    default:
      return {ErrorKind::io, path, fmt::format("{}: SQLite failed: {} (code {})", file, message, result)};
  }
}

DatabaseError translate(const SQLite::Exception& error, const std::filesystem::path& path) {
  const int result = error.getExtendedErrorCode() > 0 ? error.getExtendedErrorCode() : error.getErrorCode();
  return translate(result, error.what(), path);
}

}  // namespace ddpprof::store
