// Opens the trace database a subcommand was given, and turns its errors into the command line's.
#pragma once

#include <string>

#include "cli/subcommand.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof::cli {

// Read-only. Throws Failure: usage when there is no such file, data when it is no trace database or damaged, failed
// when the system does not let it be read.
store::Database open_database(const std::string& path);

}  // namespace ddpprof::cli
