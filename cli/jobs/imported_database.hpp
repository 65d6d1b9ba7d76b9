// Makes the database of an import, or adds to one, so that an interrupted import changes nothing.
#pragma once

#include <functional>
#include <string>

#include "tracer/store/database.hpp"

namespace ddpprof::cli {

using FillDatabase = std::function<void(store::Database&)>;

// Makes the database `file` and calls `fill`, then `finish` for the complete database. If `fill` throws, a new database
// is removed, and a database that would have been replaced stays with its folder. Throws Failure,
// measure::InvalidRequest if another run or import uses the database, store::DatabaseError if another process writes to
// it, and what the functions throw.
void make_database(const std::string& file, bool overwrite, const FillDatabase& fill, const FillDatabase& finish);

// Calls `fill`, then `finish`, for a copy of the database `file`, which then replaces the database. If a function
// throws or the process is killed, the database stays as it was. Throws like make_database(), and Failure if
// check_appendable() does.
void append_to_database(const std::string& file, const FillDatabase& fill, const FillDatabase& finish);

// Throws Failure unless `file` is a database whose measurements all come from traces or logs.
void check_appendable(const std::string& file);

}  // namespace ddpprof::cli
