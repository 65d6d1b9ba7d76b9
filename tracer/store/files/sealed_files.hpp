// Opens database files through SQLite in such a way that every page is sealed when it is written and checked when it is
// read (seal.hpp).
//
// The file stays plain SQLite: a seal lies in bytes that the file's header reserves (at its byte 20), which other
// programs keep and do not read. A file that reserves none has no seals and is read as it is. What another program
// writes into a sealed file has no seal, and those pages are refused: it cannot be told from damage. Pages that a
// journal brings back, left by somebody who was killed, bear the seals they had: damage to them is found like any
// other.
#pragma once

#include <SQLiteCpp/Database.h>

#include <filesystem>

namespace ddpprof::store {

// The name that SQLite::Database takes as its last argument. Registers it with SQLite the first time; throws
// SQLite::Exception where SQLite refuses.
const char* sealed_files();

// A new database's pages shall be sealed: to be called before anything is written. Throws SQLite::Exception.
void begin_sealed(SQLite::Database&);

// Whether one of the file's first pages bears a seal, whatever its header says; false where seals are not to be looked
// at. Throws DatabaseError where the file cannot be read.
bool has_sealed_page(const std::filesystem::path&);

// The environment variable that, set to "ignore", has pages read whose seals do not match.
inline constexpr const char* seals_variable = "DDPPROF_SEALS";

}  // namespace ddpprof::store
