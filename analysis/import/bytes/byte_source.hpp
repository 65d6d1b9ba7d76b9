// Reads the bytes of another program's file and decompresses them: plain, gzip or zstd, detected by the first bytes.
//
// A damaged file does not throw: every byte before the damage is returned first, then the end, then problem() returns
// what is wrong and where. The formats differ: gzip checks a whole member by the CRC in its tail, so bytes between the
// damage and the place where it is detected may be wrong; the text of problem() distinguishes this case. zstd returns
// whole blocks of at most 128 KiB.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>

namespace ddpprof::import {

// Thrown if the file cannot be read at all. The message names the file and what to do.
struct OpenError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

enum class Encoding { plain, gzip, zstd };

class ByteSource {
 public:
  ByteSource() = default;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;
  virtual ~ByteSource() = default;

  // Fills `into` from its front. Returns fewer bytes than fit only before the end, and 0 at the end.
  virtual std::size_t read(std::span<std::byte> into) = 0;

  // Why the bytes ended before the content; set once read() has returned 0, none if all was sound.
  virtual std::optional<std::string> problem() const = 0;
  // Content-free bytes that were skipped, such as padding after the last gzip member; set at the same time as
  // problem().
  virtual std::optional<std::string> remark() const = 0;

  // For progress: the bytes of the file that were used so far, and its size when it was opened (0 for a pipe).
  virtual std::uint64_t consumed() const = 0;
  virtual std::uint64_t file_bytes() const = 0;
  virtual Encoding encoding() const = 0;
};

// A zstd frame that needs a larger window is rejected through problem(), as `zstd -d` rejects it.
inline constexpr int largest_zstd_window_log = 27;  // 128 MiB

// Throws OpenError if the file is missing, is not readable, or is a folder.
std::unique_ptr<ByteSource> open_bytes(const std::filesystem::path& path);

}  // namespace ddpprof::import
