// Content, its compressed forms made by zlib and zstd themselves, and files for the duration of a test.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <string_view>

#include "analysis/import/bytes/byte_source.hpp"

namespace ddpprof::import {

// Text like a trace: repetitive with different numbers, so that all kinds of blocks and codes occur.
inline std::string trace_like_text(std::size_t bytes, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::string text;
  while (text.size() < bytes) {
    text += R"({"ph": "X", "cat": "kernel", "name": "gemm_)" + std::to_string(random() % 50) + R"(", "ts": )" +
            std::to_string(random()) + "},\n";
  }
  text.resize(bytes);
  return text;
}

inline std::string gzipped(std::string_view text, gz_header* header = nullptr) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  if (header != nullptr) deflateSetHeader(&stream, header);
  std::string packed(deflateBound(&stream, text.size()) + 1024, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

inline std::string zstd_packed(std::string_view text, bool checksum = true, int window_log = 0) {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, checksum ? 1 : 0);
  if (window_log > 0) {
    ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, window_log);
    ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, 0);
  }
  std::string packed(ZSTD_compressBound(text.size()) + 1024, '\0');
  ZSTD_inBuffer in{text.data(), text.size(), 0};
  ZSTD_outBuffer out{packed.data(), packed.size(), 0};
  // Two calls: with one call, zstd would know the size and choose the smallest possible window.
  ZSTD_compressStream2(context, &out, &in, ZSTD_e_continue);
  EXPECT_EQ(ZSTD_compressStream2(context, &out, &in, ZSTD_e_end), 0U);
  packed.resize(out.pos);
  ZSTD_freeCCtx(context);
  return packed;
}

class File {
 public:
  explicit File(std::string_view content) {
    std::string name = (std::filesystem::temp_directory_path() / "ddpprof-bytes-XXXXXX").string();
    const int descriptor = mkstemp(name.data());
    EXPECT_GE(descriptor, 0);
    close(descriptor);
    path_ = name;
    std::ofstream(path_, std::ios::binary).write(content.data(), static_cast<std::streamsize>(content.size()));
  }
  ~File() { std::filesystem::remove(path_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

struct Read {
  std::string text, problem, remark;  // problem and remark may be empty
  Encoding encoding = Encoding::plain;
  std::uint64_t consumed = 0, file_bytes = 0;
};

inline Read read_all(ByteSource& source, std::size_t piece_bytes = 10'000) {
  Read read;
  std::string piece(piece_bytes, '\0');
  while (const std::size_t got = source.read(std::as_writable_bytes(std::span<char>(piece)))) {
    EXPECT_LE(got, piece_bytes);
    read.text.append(piece, 0, got);
    if (got < piece_bytes) {
      EXPECT_EQ(source.read(std::as_writable_bytes(std::span<char>(piece))), 0U) << "fewer only before the end";
    }
  }
  read.problem = source.problem().value_or("");
  read.remark = source.remark().value_or("");
  read.encoding = source.encoding();
  read.consumed = source.consumed();
  read.file_bytes = source.file_bytes();
  return read;
}

inline Read read_packed(std::string_view packed, std::size_t piece_bytes = 10'000) {
  const File file(packed);
  return read_all(*open_bytes(file.path()), piece_bytes);
}

}  // namespace ddpprof::import
