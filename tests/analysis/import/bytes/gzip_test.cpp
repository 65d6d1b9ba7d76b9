// gzip: members, header fields, padding, and damage. The expected sound bytes come from zlib, fed byte by byte.
#include <gmock/gmock.h>

#include "tests/analysis/import/bytes/packed.hpp"

namespace ddpprof::import {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// Returns for each length of the stream's beginning how much content zlib returns. One member.
std::vector<std::size_t> sound_bytes(const std::string& packed, std::size_t content_bytes) {
  z_stream stream{};
  EXPECT_EQ(inflateInit2(&stream, 15 + 16), Z_OK);
  std::string content(content_bytes + 1, '\0');
  stream.next_out = reinterpret_cast<Bytef*>(content.data());
  stream.avail_out = static_cast<uInt>(content.size());
  std::vector<std::size_t> sound{0};
  for (const char& byte : packed) {
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(&byte));
    stream.avail_in = 1;
    inflate(&stream, Z_NO_FLUSH);
    sound.push_back(stream.total_out);
  }
  inflateEnd(&stream);
  return sound;
}

TEST(GzipBytes, InflateInPiecesOfAnySize) {
  const std::string text = trace_like_text(3'000'000), packed = gzipped(text);
  for (const std::size_t piece_bytes : {7UL, 4096UL, 3'000'000UL, 3'000'001UL, 1UL << 23}) {
    const Read read = read_packed(packed, piece_bytes);
    EXPECT_TRUE(read.text == text) << piece_bytes;
    EXPECT_EQ(read.problem + read.remark, "");
    EXPECT_EQ(read.encoding, Encoding::gzip);
    EXPECT_EQ(read.consumed, packed.size());
    EXPECT_EQ(read.file_bytes, packed.size());
  }
}

TEST(GzipBytes, EmptyAndOneByte) {
  for (const std::string text : {"", "{"}) {
    const Read read = read_packed(gzipped(text), 1);
    EXPECT_EQ(read.text, text);
    EXPECT_EQ(read.problem + read.remark, "");
    EXPECT_EQ(read.encoding, Encoding::gzip);
  }
}

TEST(GzipBytes, MembersFollowEachOther) {
  std::string text, packed;
  for (unsigned member = 0; member < 300; ++member) {
    const std::string part = trace_like_text(member % 7 == 0 ? 0 : 37 * member, member);
    text += part;
    packed += gzipped(part);
  }
  const Read read = read_packed(packed, 1001);
  EXPECT_TRUE(read.text == text);
  EXPECT_EQ(read.problem + read.remark, "");
}

TEST(GzipBytes, EveryFieldOfTheHeaderIsRead) {
  const std::string text = trace_like_text(5000);
  std::string name = "trace.json", comment = "of rank 3", extra = "AB\x04\x00wxyz";
  for (int fields = 0; fields < 16; ++fields) {
    gz_header header{};
    if (fields & 1) header.name = reinterpret_cast<Bytef*>(name.data());
    if (fields & 2) header.comment = reinterpret_cast<Bytef*>(comment.data());
    if (fields & 4) {
      header.extra = reinterpret_cast<Bytef*>(extra.data());
      header.extra_len = 8;
    }
    header.hcrc = (fields & 8) != 0;
    std::string packed = gzipped(text, &header);
    const Read read = read_packed(packed);
    EXPECT_TRUE(read.text == text) << fields;
    EXPECT_EQ(read.problem, "") << fields;
    if (fields == 15) {
      packed[14] ^= 1;  // in the extra field, which is covered only by the header's CRC
      EXPECT_THAT(read_packed(packed).problem, HasSubstr("invalid data in gzip member 1 (header crc mismatch)"));
      EXPECT_EQ(read_packed(packed).text, "");
    }
  }
}

TEST(GzipBytes, PaddingAndGarbageBehindTheLastMemberAreRemarked) {
  const std::string text = trace_like_text(5000), packed = gzipped(text);
  Read read = read_packed(packed + std::string(700'000, '\0'));
  EXPECT_TRUE(read.text == text);
  EXPECT_EQ(read.problem, "");
  EXPECT_THAT(read.remark, HasSubstr("byte " + std::to_string(packed.size()) +
                                     ": skipped 700000 zero bytes after the last gzip member (padding)"));
  read = read_packed(packed + "\x1f");
  EXPECT_TRUE(read.text == text);
  EXPECT_EQ(read.problem, "");
  EXPECT_THAT(read.remark,
              HasSubstr(": skipped 1 byte after the last gzip member, because no gzip member begins there"));
}

TEST(GzipBytes, TruncatedAnywhereAllSoundBytesComeAndThenTheProblem) {
  const std::string text = trace_like_text(600'000), packed = gzipped(text);
  const std::vector<std::size_t> sound = sound_bytes(packed, text.size());
  ASSERT_EQ(sound.back(), text.size());
  std::vector<std::size_t> lengths{2, 3, 9, 10, 11, packed.size() - 9, packed.size() - 8, packed.size() - 1};
  for (std::size_t length = 997; length < packed.size(); length += 997) lengths.push_back(length);
  for (const std::size_t length : lengths) {
    const Read read = read_packed(packed.substr(0, length));
    EXPECT_EQ(read.text.size(), sound[length]) << length;
    EXPECT_TRUE(text.starts_with(read.text)) << length;
    EXPECT_THAT(read.problem,
                HasSubstr(": byte " + std::to_string(length) + ": truncated: the file ends within gzip member 1"));
  }
}

TEST(GzipBytes, TruncatedInTheSecondMember) {
  const std::string first = trace_like_text(20'000, 1), second = trace_like_text(20'000, 2), packed = gzipped(first);
  const Read read = read_packed(packed + gzipped(second).substr(0, 2000));
  EXPECT_TRUE((first + second).starts_with(read.text));
  EXPECT_GT(read.text.size(), first.size());
  EXPECT_THAT(read.problem, HasSubstr("byte " + std::to_string(packed.size() + 2000) +
                                      ": truncated: the file ends within gzip member 2"));
}

TEST(GzipBytes, AFlippedByteInTheMiddleIsFoundAndTheBytesBeforeItAreSound) {
  const std::string text = trace_like_text(600'000), packed = gzipped(text);
  const std::vector<std::size_t> sound = sound_bytes(packed, text.size());
  for (std::size_t at = 997; at + 8 < packed.size(); at += 9973) {
    std::string damaged = packed;
    damaged[at] = static_cast<char>(~damaged[at]);
    const Read read = read_packed(damaged);
    // Whole codes of the bytes before it: the code that ends in the damaged byte may have begun earlier.
    EXPECT_EQ(read.text.substr(0, sound[at]), text.substr(0, sound[at])) << at;
    EXPECT_GE(read.text.size(), sound[at]) << at;
    EXPECT_THAT(read.problem, testing::ContainsRegex("damaged")) << at;
  }
}

TEST(GzipBytes, AWrongTailIsToldAfterTheWholeContent) {
  const std::string text = trace_like_text(50'000), packed = gzipped(text);
  std::string damaged = packed;
  damaged[packed.size() - 8] ^= 1;
  Read read = read_packed(damaged);
  EXPECT_TRUE(read.text == text);
  EXPECT_THAT(read.problem, HasSubstr("wrong CRC-32 in the tail of gzip member 1"));
  damaged = packed;
  damaged[packed.size() - 1] ^= 1;
  read = read_packed(damaged, text.size());  // a read that was just filled has not reached the tail yet
  EXPECT_TRUE(read.text == text);
  EXPECT_THAT(read.problem, HasSubstr("wrong length in the tail of gzip member 1: its content has 50000 bytes"));
}

}  // namespace
}  // namespace ddpprof::import
