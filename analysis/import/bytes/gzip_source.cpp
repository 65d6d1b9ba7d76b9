#include <zlib.h>

#include <algorithm>
#include <limits>
#include <new>
#include <string_view>

#include "analysis/import/bytes/compressed.hpp"

namespace ddpprof::import {
namespace {

constexpr int gzip_only_window_bits = 15 + 16;  // zlib: the window's bits plus 16 select gzip's header and tail

class GzipSource final : public FileSource {
 public:
  explicit GzipSource(std::unique_ptr<InputFile> file) : FileSource(std::move(file)) {
    if (inflateInit2(&stream_, gzip_only_window_bits) != Z_OK) throw std::bad_alloc();
  }
  ~GzipSource() override { inflateEnd(&stream_); }

  std::size_t read(std::span<std::byte> into) override;
  Encoding encoding() const override { return Encoding::gzip; }

 private:
  bool begin_member();  // false: the end
  void inflate_failed(int result);
  std::string where() const { return "gzip member " + std::to_string(members_); }

  z_stream stream_{};
  bool inside_ = false;  // of a member
  std::uint64_t members_ = 0;
};

bool GzipSource::begin_member() {
  const std::span<const std::byte> next = file_->look(2);
  if (next.empty()) {
    ended_ = true;
    problem_ = file_->error();
  } else if (!starts_gzip_member(next)) {
    pass_over_rest("gzip member");
  } else {
    inflateReset(&stream_);
    ++members_;
    inside_ = true;
  }
  return inside_;
}

std::size_t GzipSource::read(std::span<std::byte> into) {
  std::size_t done = 0;
  while (done < into.size() && !ended_ && (inside_ || begin_member())) {
    const std::span<const std::byte> input = file_->look(1);
    const std::size_t room = std::min<std::size_t>(into.size() - done, std::numeric_limits<uInt>::max());
    // zlib does not write to its input, but declares this only if ZLIB_CONST is defined for every includer.
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(input.data()));
    stream_.avail_in = static_cast<uInt>(input.size());
    stream_.next_out = reinterpret_cast<Bytef*>(into.data() + done);
    stream_.avail_out = static_cast<uInt>(room);
    const int result = inflate(&stream_, Z_NO_FLUSH);
    file_->skip(input.size() - stream_.avail_in);
    done += room - stream_.avail_out;
    if (result == Z_STREAM_END) {
      inside_ = false;
    } else if (result == Z_BUF_ERROR && input.empty()) {
      fail(file_->position(),
           "truncated: the file ends within " + where() + "; copy it again from where it was written");
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
      inflate_failed(result);
    }
  }
  return done;
}

void GzipSource::inflate_failed(int result) {
  if (result == Z_MEM_ERROR) throw std::bad_alloc();
  const std::string_view said = stream_.msg != nullptr ? stream_.msg : "not specified";
  std::string what;
  if (said == "incorrect data check") {
    what = "wrong CRC-32 in the tail of " + where() + ": some of its bytes are damaged";
  } else if (said == "incorrect length check") {
    what =
        "wrong length in the tail of " + where() + ": its content has " + std::to_string(stream_.total_out) + " bytes";
  } else {
    what = "invalid data in " + where() + " (" + std::string(said) + "): bytes shortly before it may be damaged, too";
  }
  fail(file_->position(), what + "; copy the file again from where it was written");
}

}  // namespace

bool starts_gzip_member(std::span<const std::byte> bytes) {
  return bytes.size() >= 2 && bytes[0] == std::byte{0x1f} && bytes[1] == std::byte{0x8b};
}

std::unique_ptr<ByteSource> gzip_source(std::unique_ptr<InputFile> file) {
  return std::make_unique<GzipSource>(std::move(file));
}

}  // namespace ddpprof::import
