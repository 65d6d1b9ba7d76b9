// zstd: frames, windows and damage. The expected sound bytes come from zstd, fed byte by byte.
#include <gmock/gmock.h>

#include "tests/analysis/import/bytes/packed.hpp"

namespace ddpprof::import {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

// Like the function in gzip's test. Byte by byte, no call can fail after it has written.
std::vector<std::size_t> sound_bytes(const std::string& packed, std::size_t content_bytes) {
  ZSTD_DCtx* context = ZSTD_createDCtx();
  std::string content(content_bytes + 1, '\0');
  ZSTD_outBuffer out{content.data(), content.size(), 0};
  std::vector<std::size_t> sound{0};
  for (const char& byte : packed) {
    ZSTD_inBuffer in{&byte, 1, 0};
    EXPECT_FALSE(ZSTD_isError(ZSTD_decompressStream(context, &out, &in)));
    sound.push_back(out.pos);
  }
  ZSTD_freeDCtx(context);
  return sound;
}

TEST(ZstdBytes, InflateInPiecesOfAnySize) {
  const std::string text = trace_like_text(3'000'000);
  for (const bool checksum : {false, true}) {
    const std::string packed = zstd_packed(text, checksum);
    for (const std::size_t piece_bytes : {7UL, 131'071UL, 131'072UL, 3'000'000UL, 3'000'001UL, 1UL << 23}) {
      const Read read = read_packed(packed, piece_bytes);
      EXPECT_TRUE(read.text == text) << piece_bytes;
      EXPECT_EQ(read.problem + read.remark, "");
      EXPECT_EQ(read.encoding, Encoding::zstd);
      EXPECT_EQ(read.consumed, packed.size());
    }
  }
}

TEST(ZstdBytes, EmptyAndOneByteAndWhatDoesNotCompress) {
  std::mt19937 random(5);
  std::string noise(500'000, '\0');
  for (char& byte : noise) byte = static_cast<char>(random());
  for (const std::string& text : {std::string(), std::string("{"), noise, std::string(1'000'000, ' ')}) {
    const Read read = read_packed(zstd_packed(text), 1 + text.size() / 3);
    EXPECT_TRUE(read.text == text) << text.size();
    EXPECT_EQ(read.problem + read.remark, "") << text.size();
    EXPECT_EQ(read.encoding, Encoding::zstd);
  }
}

TEST(ZstdBytes, FramesFollowEachOtherAndSkippableOnesAreSkipped) {
  const std::string skippable = std::string("\x53\x2a\x4d\x18\x40\x0d\x03\x00", 8) + std::string(0x30d40, 's');
  std::string text, packed = skippable;
  for (unsigned frame = 0; frame < 100; ++frame) {
    const std::string part = trace_like_text(frame % 7 == 0 ? 0 : 997 * frame, frame);
    text += part;
    packed += zstd_packed(part, frame % 2 == 0);
    if (frame % 10 == 3) packed += skippable;
  }
  const Read read = read_packed(packed, 1001);
  EXPECT_TRUE(read.text == text);
  EXPECT_EQ(read.problem + read.remark, "");
}

TEST(ZstdBytes, WhatFollowsTheLastFrameIsRemarked) {
  const std::string text = trace_like_text(5000);
  const Read read = read_packed(zstd_packed(text) + "garbage");
  EXPECT_TRUE(read.text == text);
  EXPECT_EQ(read.problem, "");
  EXPECT_THAT(read.remark,
              HasSubstr(": skipped 7 bytes after the last zstd frame, because no zstd frame begins there"));
}

TEST(ZstdBytes, TruncatedAnywhereAllSoundBytesComeAndThenTheProblem) {
  const std::string text = trace_like_text(1'500'000), packed = zstd_packed(text);
  const std::vector<std::size_t> sound = sound_bytes(packed, text.size());
  std::vector<std::size_t> lengths{4, 5, 6, 7, 9, packed.size() - 5, packed.size() - 4, packed.size() - 1};
  for (std::size_t length = 997; length < packed.size(); length += 997) lengths.push_back(length);
  for (const std::size_t length : lengths) {
    for (const std::size_t piece_bytes : {100'000UL, 2'000'000UL}) {
      const Read read = read_packed(packed.substr(0, length), piece_bytes);
      ASSERT_EQ(read.text.size(), sound[length]) << length;
      ASSERT_TRUE(text.starts_with(read.text)) << length;
      ASSERT_THAT(read.problem,
                  HasSubstr(": byte " + std::to_string(length) + ": truncated: the file ends within zstd frame 1"));
    }
  }
}

TEST(ZstdBytes, AFlippedByteCostsNoBlockBeforeIt) {
  const std::string text = trace_like_text(1'500'000), packed = zstd_packed(text);
  const std::vector<std::size_t> sound = sound_bytes(packed, text.size());
  std::vector<std::size_t> places;
  for (std::size_t at = 997; at < packed.size(); at += 997) places.push_back(at);
  for (std::size_t at = 1; at + 4 < sound.size(); ++at)  // the headers right behind the blocks, too
    if (sound[at] != sound[at - 1]) places.insert(places.end(), {at, at + 1, at + 2});
  for (const std::size_t at : places) {
    std::string damaged = packed;
    damaged[at] = static_cast<char>(~damaged[at]);
    for (const std::size_t piece_bytes : {100'000UL, 2'000'000UL}) {
      const Read read = read_packed(damaged, piece_bytes);
      ASSERT_GE(read.text.size(), sound[at]) << at;
      ASSERT_EQ(read.text.compare(0, sound[at], text, 0, sound[at]), 0) << at;
      ASSERT_THAT(read.problem,
                  AnyOf(HasSubstr("invalid data in zstd frame 1"), HasSubstr("wrong checksum"), HasSubstr("truncated")))
          << at;
    }
  }
}

TEST(ZstdBytes, AWrongChecksumIsToldAfterTheWholeContent) {
  const std::string text = trace_like_text(500'000);
  std::string packed = zstd_packed(text);
  packed.back() ^= 1;
  const Read read = read_packed(packed);
  EXPECT_TRUE(read.text == text);
  EXPECT_THAT(read.problem, HasSubstr("wrong checksum at the end of zstd frame 1"));
}

TEST(ZstdBytes, AWindowBeyondTheLimitIsRefused) {
  const std::string text = trace_like_text(300'000);
  EXPECT_TRUE(read_packed(zstd_packed(text, true, largest_zstd_window_log)).text == text);
  const Read read = read_packed(zstd_packed(text, true, largest_zstd_window_log + 1));
  EXPECT_EQ(read.text, "");
  EXPECT_THAT(read.problem,
              HasSubstr("zstd frame 1 needs a window of more than 128 MiB, which is not supported; unpack"));
}

}  // namespace
}  // namespace ddpprof::import
