#include "cli/database_file.hpp"

#include "cli/exit_code.hpp"

namespace ddpprof::cli {

store::Database open_database(const std::string& path) {
  try {
    return store::Database::open_read(path);
  } catch (const store::DatabaseError& error) {
    throw failure_of(error);
  }
}

}  // namespace ddpprof::cli
