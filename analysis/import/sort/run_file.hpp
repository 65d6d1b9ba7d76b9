// One temporary file without a name, which sorted runs are appended to and read back from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <stdexcept>
#include <string>

namespace ddpprof::import {

// A temporary file cannot be made, written or read; the message names the folder and says what to do.
struct TemporaryFileError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class RunFile {
 public:
  // The file has no name once this returns: it is gone with the process, however that ends.
  explicit RunFile(const std::filesystem::path& folder);
  RunFile(const RunFile&) = delete;
  RunFile& operator=(const RunFile&) = delete;
  ~RunFile();

  void append(std::span<const std::byte> bytes);
  // All of `into`, from `offset_bytes` on, which must have been appended. Threads may read at the same time.
  void read(std::uint64_t offset_bytes, std::span<std::byte> into) const;
  std::uint64_t bytes() const { return bytes_; }

 private:
  [[noreturn]] void fail(const std::string& what, int reason) const;

  std::string folder_;
  int descriptor_ = -1;
  std::uint64_t bytes_ = 0;
};

}  // namespace ddpprof::import
