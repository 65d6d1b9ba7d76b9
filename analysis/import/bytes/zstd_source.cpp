#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <new>

#include "analysis/import/bytes/compressed.hpp"

namespace ddpprof::import {
namespace {

constexpr std::size_t block_header_bytes = 3;
// larger than any block; a skippable frame may ask for more
constexpr std::size_t largest_feed_bytes = std::size_t{1} << 18;
static_assert(largest_feed_bytes <= InputFile::buffer_bytes);

class ZstdSource final : public FileSource {
 public:
  explicit ZstdSource(std::unique_ptr<InputFile> file) : FileSource(std::move(file)), context_(ZSTD_createDCtx()) {
    if (!context_) throw std::bad_alloc();
    ZSTD_DCtx_setParameter(context_.get(), ZSTD_d_windowLogMax, largest_zstd_window_log);
  }

  std::size_t read(std::span<std::byte> into) override;
  Encoding encoding() const override { return Encoding::zstd; }

 private:
  struct Free {
    void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
  };
  bool begin_frame();  // false: the end
  std::size_t feed_bytes() const;
  void decompress_failed(std::size_t result);
  std::string where() const { return "zstd frame " + std::to_string(frames_); }

  std::unique_ptr<ZSTD_DCtx, Free> context_;
  bool inside_ = false;         // of a frame
  bool output_waits_ = false;   // the last call filled its output: there may be more without further input
  std::size_t hint_bytes_ = 0;  // bytes that zstd asks for next: the rest of a block and the next block's header
  std::uint64_t frames_ = 0;
};

bool ZstdSource::begin_frame() {
  const std::span<const std::byte> next = file_->look(4);
  if (next.empty()) {
    ended_ = true;
    problem_ = file_->error();
  } else if (!starts_zstd_frame(next)) {
    pass_over_rest("zstd frame");
  } else {
    ++frames_;
    inside_ = true;
    output_waits_ = false;
    hint_bytes_ = ZSTD_initDStream(context_.get());
  }
  return inside_;
}

// Returns the size of one block's body or one header. A failing call does not report the bytes that it has written
// before, so one call must not reach beyond one block.
std::size_t ZstdSource::feed_bytes() const {
  if (output_waits_) return 0;
  const std::size_t bytes = hint_bytes_ > block_header_bytes ? hint_bytes_ - block_header_bytes : hint_bytes_;
  return std::clamp<std::size_t>(bytes, 1, largest_feed_bytes);
}

std::size_t ZstdSource::read(std::span<std::byte> into) {
  std::size_t done = 0;
  while (done < into.size() && !ended_ && (inside_ || begin_frame())) {
    const std::size_t feed = feed_bytes();
    const std::span<const std::byte> input = file_->look(feed);
    ZSTD_inBuffer in{input.data(), std::min(input.size(), feed), 0};
    ZSTD_outBuffer out{into.data() + done, into.size() - done, 0};
    const std::size_t result = ZSTD_decompressStream(context_.get(), &out, &in);
    if (ZSTD_isError(result)) {
      decompress_failed(result);
      break;
    }
    file_->skip(in.pos);
    done += out.pos;
    output_waits_ = out.pos == out.size;
    hint_bytes_ = result;
    if (result == 0) {
      inside_ = false;
    } else if (feed > 0 && in.size == 0 && out.pos == 0) {
      fail(file_->position(),
           "truncated: the file ends within " + where() + "; copy it again from where it was written");
    }
  }
  return done;
}

void ZstdSource::decompress_failed(std::size_t result) {
  const std::string again = "; copy the file again from where it was written";
  const std::uint64_t at = file_->position();
  switch (ZSTD_getErrorCode(result)) {
    case ZSTD_error_memory_allocation:
      throw std::bad_alloc();
    case ZSTD_error_frameParameter_windowTooLarge:
      return fail(at, where() + " needs a window of more than " + std::to_string((1 << largest_zstd_window_log) >> 20) +
                          " MiB, which is not supported; unpack the file first with `zstd -d --long=31`");
    case ZSTD_error_dictionary_wrong:
      return fail(
          at,
          where() + " needs a dictionary, which is not supported; unpack the file first with `zstd -d -D DICTIONARY`");
    case ZSTD_error_checksum_wrong:
      return fail(at, "wrong checksum at the end of " + where() + ": some of its bytes are damaged" + again);
    default:
      return fail(at, "invalid data in " + where() + " (" + ZSTD_getErrorName(result) + ")" + again);
  }
}

}  // namespace

bool starts_zstd_frame(std::span<const std::byte> bytes) {
  if (bytes.size() < 4) return false;
  std::uint32_t magic = 0;
  for (std::size_t i = 0; i < 4; ++i) magic |= std::to_integer<std::uint32_t>(bytes[i]) << (8 * i);
  return magic == ZSTD_MAGICNUMBER || (magic & ZSTD_MAGIC_SKIPPABLE_MASK) == ZSTD_MAGIC_SKIPPABLE_START;
}

std::unique_ptr<ByteSource> zstd_source(std::unique_ptr<InputFile> file) {
  return std::make_unique<ZstdSource>(std::move(file));
}

}  // namespace ddpprof::import
