#include "cli/database_file.hpp"

namespace ddpprof::cli {

Failure failure_of(const store::DatabaseError& error) {
  switch (error.kind()) {
    case store::ErrorKind::missing:
    case store::ErrorKind::exists:
      return Failure(ExitCode::usage, error.what());
    case store::ErrorKind::locked:
    case store::ErrorKind::io:
      return Failure(ExitCode::failed, error.what());
    case store::ErrorKind::not_sqlite:
    case store::ErrorKind::foreign:
    case store::ErrorKind::older_version:
    case store::ErrorKind::newer_version:
    case store::ErrorKind::corrupt:
      break;
  }
  return Failure(ExitCode::data, error.what());
}

store::Database open_database(const std::string& path) {
  try {
    return store::Database::open_read(path);
  } catch (const store::DatabaseError& error) {
    throw failure_of(error);
  }
}

}  // namespace ddpprof::cli
