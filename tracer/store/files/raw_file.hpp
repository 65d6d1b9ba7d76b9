// Reads the bytes of a file without releasing the locks that the process holds on the file.
//
// A process that closes a file releases all its locks on that file, also locks taken through another descriptor
// (https://www.sqlite.org/howtocorrupt.html, section 2.2). Reading the header of an open database through a separate
// stream would let another process write meanwhile. SQLite does not close a file while it holds a lock on the same file
// through another handle. So this class reads through SQLite.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

namespace ddpprof::store {

class RawFile {
 public:
  // Only opens the file. Throws DatabaseError(io).
  explicit RawFile(const std::filesystem::path&);

  // Reads the file from `offset` on into `into`. Returns the number of bytes, which is smaller than the size of `into`
  // at the end of the file. SQLite treats a file of one byte as empty. Throws DatabaseError.
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
