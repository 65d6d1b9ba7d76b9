// Reads a file's bytes as they are, in a way that leaves the process the locks it holds on the file.
//
// A process that closes a file gives up every lock that it has on it, taken through whichever descriptor
// (https://www.sqlite.org/howtocorrupt.html, section 2.2): to look at an open database's header through a stream of
// one's own would let another process write into the middle of what is being read. SQLite knows this of its own files
// and closes none as long as it holds a lock on another one of the same name, so that the bytes are read through it.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

namespace ddpprof::store {

class RawFile {
 public:
  // Reads nothing. Throws DatabaseError(io).
  explicit RawFile(const std::filesystem::path&);

  // The first bytes of `into` are the file's from `offset` on; how many, fewer than asked for at its end. A file of one
  // byte is empty to SQLite. Throws DatabaseError.
  std::size_t read(std::span<unsigned char> into, std::uint64_t offset) const;

 private:
  struct Close {
    void operator()(sqlite3* handle) const { sqlite3_close(handle); }
  };

  std::uint64_t size_bytes() const;

  std::filesystem::path path_;
  std::unique_ptr<sqlite3, Close> handle_;
  sqlite3_file* file_ = nullptr;
};

}  // namespace ddpprof::store
