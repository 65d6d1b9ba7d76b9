#include "runner/worker/data/idx.hpp"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>

#include "runner/scenario/data_files.hpp"

namespace ddpprof::worker {
namespace {

using scenario::DataError;

constexpr std::uint64_t most_bytes = std::uint64_t{1} << 36;  // larger sizes in a header are rejected
constexpr std::size_t piece_bytes = std::size_t{4} << 20;

// zlib also reads files that are not compressed.
class PackedFile {
 public:
  explicit PackedFile(const std::filesystem::path& path) : name_(path.string()) {
    errno = 0;
    file_ = gzopen(name_.c_str(), "rb");
    if (!file_) throw std::runtime_error(name_ + ": cannot be opened: " + (errno ? std::strerror(errno) : "no memory"));
    gzbuffer(file_, 1 << 17);
  }
  ~PackedFile() { gzclose_r(file_); }
  PackedFile(const PackedFile&) = delete;
  PackedFile& operator=(const PackedFile&) = delete;

  // Returns the number of bytes read.
  std::size_t read(std::uint8_t* to, std::size_t bytes) {
    const int got = gzread(file_, to, static_cast<unsigned>(bytes));
    int code = Z_OK;
    const char* message = gzerror(file_, &code);
    if (code == Z_ERRNO) throw std::runtime_error(name_ + ": cannot be read: " + std::strerror(errno));
    if (code == Z_BUF_ERROR) throw DataError(name_ + ": the gzip stream ends early; expected the whole file");
    if (got < 0) throw DataError(name_ + ": damaged gzip stream (" + message + "); expected an IDX file");
    return static_cast<std::size_t>(got);
  }

 private:
  std::string name_;
  gzFile file_;
};

std::string hexadecimal_bytes(const std::array<std::uint8_t, 4>& bytes) {
  constexpr const char* digits = "0123456789abcdef";
  std::string text = "0x";
  for (const std::uint8_t byte : bytes) (text += digits[byte >> 4]) += digits[byte & 15];
  return text;
}

}  // namespace

IdxArray read_idx(const std::filesystem::path& path, std::size_t dimensions) {
  PackedFile file(path);
  const std::string name = path.string();
  std::array<std::uint8_t, 4> word{};
  const std::array<std::uint8_t, 4> magic{0, 0, 8, static_cast<std::uint8_t>(dimensions)};
  const auto next_word = [&] {
    if (file.read(word.data(), word.size()) != word.size())
      throw DataError(name + ": ends inside its header; expected an IDX file of " + std::to_string(dimensions) +
                      " dimensions");
  };
  next_word();
  if (word != magic)
    throw DataError(name + ": starts with " + hexadecimal_bytes(word) + "; expected an IDX file of unsigned bytes in " +
                    std::to_string(dimensions) + " dimensions, which starts with " + hexadecimal_bytes(magic));
  IdxArray array;
  std::uint64_t count = 1;
  for (std::size_t i = 0; i < dimensions; ++i) {
    next_word();
    const std::uint32_t extent = std::uint32_t{word[0]} << 24 | std::uint32_t{word[1]} << 16 |
                                 std::uint32_t{word[2]} << 8 | std::uint32_t{word[3]};
    if (extent == 0 || count > most_bytes / extent)
      throw DataError(name + ": dimension " + std::to_string(i) + " is " + std::to_string(extent) +
                      "; expected 1 or more, and at most " + std::to_string(most_bytes) + " values in all");
    count *= extent;
    array.shape.push_back(extent);
  }
  // Reads piece by piece: with a wrong size in the header, no more memory is used than the file fills.
  while (array.values.size() < count) {
    const std::size_t have = array.values.size(), piece = std::min<std::uint64_t>(piece_bytes, count - have);
    if (array.values.capacity() < have + piece)
      array.values.reserve(static_cast<std::size_t>(std::min<std::uint64_t>(count, 2 * (have + piece))));
    array.values.resize(have + piece);
    const std::size_t got = file.read(array.values.data() + have, piece);
    if (got < piece)
      throw DataError(name + ": holds " + std::to_string(have + got) + " values; expected " + std::to_string(count) +
                      ", as its header says");
  }
  if (file.read(word.data(), 1) != 0)
    throw DataError(name + ": goes on after the " + std::to_string(count) + " values of its header");
  return array;
}

}  // namespace ddpprof::worker
