// A file read front to back through one fixed buffer, with its position and its errors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace ddpprof::import {

class InputFile {
 public:
  static constexpr std::size_t buffer_bytes = std::size_t{1} << 19;

  explicit InputFile(const std::filesystem::path& path);  // throws OpenError
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  ~InputFile();

  // Returns the buffered bytes, at least `wanted` of them (at most buffer_bytes) unless the file ends. Valid until the
  // next look() or read().
  std::span<const std::byte> look(std::size_t wanted);
  void skip(std::size_t bytes);  // skips bytes that look() returned

  // Reads buffered bytes first, then directly from the file into the caller's memory. Fewer bytes only before the end.
  std::size_t read(std::span<std::byte> into);

  std::uint64_t position() const { return position_; }  // of the next byte that look() returns
  std::uint64_t bytes() const { return bytes_; }        // when it was opened; 0 for a pipe
  const std::string& name() const { return name_; }
  // The kernel's read error. The file then seems to end there.
  const std::optional<std::string>& error() const { return error_; }

 private:
  std::size_t read_some(std::byte* into, std::size_t bytes);  // 0: the end or an error

  std::string name_;
  int descriptor_ = -1;
  std::uint64_t bytes_ = 0, position_ = 0;
  std::unique_ptr<std::byte[]> buffer_;
  std::size_t begin_ = 0, end_ = 0;  // the filled part of the buffer
  bool ended_ = false;
  std::optional<std::string> error_;
};

}  // namespace ddpprof::import
