#include "tracer/store/files/raw_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "tracer/store/files/error.hpp"

namespace ddpprof::store {

RawFile::RawFile(const std::filesystem::path& path) : path_(path) {
  sqlite3* handle = nullptr;
  // SQLite's own file system, because ours checks seals.
  int result = sqlite3_open_v2(path.c_str(), &handle, SQLITE_OPEN_READONLY, nullptr);
  handle_.reset(handle);
  if (result == SQLITE_OK)
    result = sqlite3_file_control(handle, "main", SQLITE_FCNTL_FILE_POINTER, static_cast<void*>(&file_));
  if (result == SQLITE_OK && file_->pMethods != nullptr) return;
  const int system = handle != nullptr ? sqlite3_system_errno(handle) : 0;
  throw DatabaseError(ErrorKind::io, path,
                      fmt::format("{}: cannot be read: {}", path.string(),
                                  system != 0 ? std::strerror(system) : sqlite3_errstr(result)));
}

std::uint64_t RawFile::size_bytes() const {
  sqlite3_int64 bytes = 0;
  const int result = file_->pMethods->xFileSize(file_, &bytes);
  if (result != SQLITE_OK) throw translate(result, sqlite3_errstr(result), path_);
  return static_cast<std::uint64_t>(bytes);
}

std::size_t RawFile::read(std::span<unsigned char> into, std::uint64_t offset) const {
  const std::uint64_t size = size_bytes();
  if (offset >= size) return 0;
  const std::size_t bytes = static_cast<std::size_t>(std::min<std::uint64_t>(into.size(), size - offset));
  const int result =
      file_->pMethods->xRead(file_, into.data(), static_cast<int>(bytes), static_cast<sqlite3_int64>(offset));
  if (result != SQLITE_OK) throw translate(result, sqlite3_errstr(result), path_);
  return bytes;
}

}  // namespace ddpprof::store
