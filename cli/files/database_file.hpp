// Opens the database that a subcommand reads.
#pragma once

#include <string>
#include <string_view>

#include "cli/subcommand.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof::cli {

// Opens `file` read-only. A file of an older program is updated to this program's schema version first, which a note
// reports. Throws store::DatabaseError.
store::Database open_database(const std::string& file, std::string_view subcommand, const Context& context);

}  // namespace ddpprof::cli
