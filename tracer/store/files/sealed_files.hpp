// A file system for SQLite (VFS) that seals every page when it is written and checks it when it is read (seal.hpp).
//
// The file stays a normal SQLite file: a seal is in bytes that the file's header reserves (byte 20), which other
// programs ignore. A file without reserved bytes has no seals and is read without checks. Pages that another program
// writes into a sealed file have no seal and are refused, because they cannot be distinguished from damage. Pages from
// the journal of a killed process have their old seals, so damage to them is found, too.
#pragma once

#include <SQLiteCpp/Database.h>

#include <filesystem>

namespace ddpprof::store {

// Returns the VFS name for the last argument of SQLite::Database. The first call registers the VFS with SQLite. Throws
// SQLite::Exception if SQLite refuses it.
const char* sealed_files();

// Makes a new database a sealed one. Must be called before anything is written. Throws SQLite::Exception.
void begin_sealed(SQLite::Database&);

// Returns true if one of the file's first pages has a seal, independent of the file's header. Returns false if seals
// are to be ignored. Throws DatabaseError if the file cannot be read.
bool has_sealed_page(const std::filesystem::path&);

// The environment variable with which pages are read although their seals do not match: set it to "ignore".
inline constexpr const char* seals_variable = "DDPPROF_SEALS";

}  // namespace ddpprof::store
