// A temporary file without a name, to which sorted runs are appended and from which they are read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <stdexcept>
#include <string>

namespace ddpprof::import {

// Thrown if a temporary file cannot be created, written or read. The message names the folder and what to do.
struct TemporaryFileError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class RunFile {
 public:
  // The file has no name when the constructor returns, so it disappears with the process in any case.
  explicit RunFile(const std::filesystem::path& folder);
  RunFile(const RunFile&) = delete;
  RunFile& operator=(const RunFile&) = delete;
  ~RunFile();

  void append(std::span<const std::byte> bytes);
  // Fills `into` from `offset_bytes` on; these bytes must have been appended. Threads may read at the same time.
  void read(std::uint64_t offset_bytes, std::span<std::byte> into) const;
  std::uint64_t bytes() const { return bytes_; }

 private:
  [[noreturn]] void fail(const std::string& what, int reason) const;

  std::string folder_;
  int descriptor_ = -1;
  std::uint64_t bytes_ = 0;
};

}  // namespace ddpprof::import
