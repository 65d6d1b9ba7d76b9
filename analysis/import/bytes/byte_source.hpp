// The bytes of a file that somebody else wrote, inflated on the way: plain, gzip or zstd, told by the first bytes.
//
// A damaged file is no exception: every byte before the damage comes first, then the end, then problem() says what is
// wrong and where. What the formats can promise differs. gzip checks a whole member by the CRC in its tail, so bytes
// between a damaged place and the place where it shows may be wrong; problem() tells that case apart. zstd gives whole
// blocks of at most 128 KiB.
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

// The file cannot be read at all; the message is a sentence that names it and says what to do.
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

  // Fills `into` from its front; fewer bytes than it has room for only before the end, 0 at the end.
  virtual std::size_t read(std::span<std::byte> into) = 0;

  // Why the bytes ended before the content did; known once read() has returned 0, none when all was sound.
  virtual std::optional<std::string> problem() const = 0;
  // What was passed over without loss of content, such as padding behind the last gzip member; known as problem() is.
  virtual std::optional<std::string> remark() const = 0;

  // For progress: bytes of the file that were used so far, and its size when it was opened (0 for a pipe).
  virtual std::uint64_t consumed() const = 0;
  virtual std::uint64_t file_bytes() const = 0;
  virtual Encoding encoding() const = 0;
};

// A zstd frame that asks for a larger window is refused through problem(), as `zstd -d` refuses it.
inline constexpr int largest_zstd_window_log = 27;  // 128 MiB

// Throws OpenError where the file is missing, may not be read, or is a folder.
std::unique_ptr<ByteSource> open_bytes(const std::filesystem::path& path);

}  // namespace ddpprof::import
