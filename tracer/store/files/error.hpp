// The kinds of errors of a trace database. Callers map them to exit codes.
#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>

namespace SQLite {
class Exception;
}

namespace ddpprof::store {

enum class ErrorKind {
  missing,        // no such file
  exists,         // create() would overwrite it
  not_sqlite,     // not an SQLite database
  foreign,        // an SQLite database, but not ddpprof's
  older_version,  // no migration leads from its version to this program's
  newer_version,  // written by a newer program
  locked,         // another process holds it
  corrupt,        // truncated or damaged
  io,             // permission, full disk, any other failure of the system
};

const char* to_string(ErrorKind);

// The message names the file, the problem, what was expected and what to do.
class DatabaseError : public std::runtime_error {
 public:
  DatabaseError(ErrorKind kind, std::filesystem::path path, const std::string& message)
      : std::runtime_error(message), kind_(kind), path_(std::move(path)) {}
  ErrorKind kind() const { return kind_; }
  const std::filesystem::path& path() const { return path_; }

 private:
  ErrorKind kind_;
  std::filesystem::path path_;
};

// Converts SQLite's result code. For exceptions of queries on Database::sql().
DatabaseError translate(const SQLite::Exception&, const std::filesystem::path&);
DatabaseError translate(int sqlite_result, const std::string& sqlite_message, const std::filesystem::path&);

}  // namespace ddpprof::store
