// Reading ahead: the same bytes for all sizes, kept bytes, early ends and exceptions.
#include <gmock/gmock.h>

#include <algorithm>

#include "analysis/import/bytes/read_ahead.hpp"
#include "tests/analysis/import/bytes/packed.hpp"

namespace ddpprof::import {
namespace {

// Content from memory; throws at its end if requested.
class TextSource final : public ByteSource {
 public:
  explicit TextSource(std::string text, bool throws = false) : text_(std::move(text)), throws_(throws) {}
  std::size_t read(std::span<std::byte> into) override {
    if (throws_ && at_ == text_.size()) throw std::runtime_error("the disk is gone");
    const std::size_t bytes = std::min(into.size(), text_.size() - at_);
    std::copy_n(reinterpret_cast<const std::byte*>(text_.data()) + at_, bytes, into.data());
    at_ += bytes;
    return bytes;
  }
  std::optional<std::string> problem() const override { return std::nullopt; }
  std::optional<std::string> remark() const override { return std::nullopt; }
  std::uint64_t consumed() const override { return at_; }
  std::uint64_t file_bytes() const override { return text_.size(); }
  Encoding encoding() const override { return Encoding::plain; }

 private:
  std::string text_;
  bool throws_;
  std::size_t at_ = 0;
};

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

bool padded(std::span<const std::byte> bytes) {
  const std::byte* end = bytes.data() + bytes.size();
  return std::all_of(end, end + ReadAhead::padding_bytes, [](std::byte byte) { return byte == std::byte{0}; });
}

TEST(ReadAhead, WhatIsCarriedOverStandsInFrontOfTheNextBlock) {
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    const std::string text = trace_like_text(random() % 20'000, static_cast<unsigned>(round));
    const ReadAhead::Options options{1 + random() % 700, 2 + random() % 4, random() % 100};
    ReadAhead ahead(std::make_unique<TextSource>(text), options);
    // Keeps nothing, then more and more up to everything, so that the rest outgrows its room and shrinks again.
    const unsigned greed = random() % 4;
    std::size_t given_to = 0, keep_bytes = 0;  // of the text
    for (;;) {
      const std::span<const std::byte> span = ahead.next_block(keep_bytes);
      ASSERT_TRUE(padded(span)) << round;
      ASSERT_GE(span.size(), keep_bytes);
      ASSERT_TRUE(text.substr(given_to - keep_bytes, span.size()) == as_text(span)) << round;
      const bool ended = span.size() == keep_bytes;
      given_to += span.size() - keep_bytes;
      ASSERT_LE(span.size() - keep_bytes, options.block_bytes);
      ASSERT_EQ(ahead.consumed(), given_to);
      if (ended) break;
      keep_bytes = random() % 8 < 2 * greed ? span.size() : random() % (span.size() + 1);
    }
    ASSERT_EQ(given_to, text.size()) << round;
    ASSERT_TRUE(text.substr(given_to - keep_bytes) == as_text(ahead.next_block(keep_bytes))) << "the end stays the end";
  }
}

TEST(ReadAhead, TheWholeTextMayBeKept) {
  const std::string text = trace_like_text(3'000'000);
  ReadAhead ahead(std::make_unique<TextSource>(text), {10'000, 3, 64});
  std::size_t keep_bytes = 0;
  for (;;) {
    const std::span<const std::byte> span = ahead.next_block(keep_bytes);
    if (span.size() == keep_bytes) {
      EXPECT_TRUE(as_text(span) == text);
      break;
    }
    keep_bytes = span.size();
  }
}

TEST(ReadAhead, MoreThanWasGivenCannotBeKept) {
  ReadAhead ahead(std::make_unique<TextSource>("abc"));
  EXPECT_THROW(ahead.next_block(1), std::invalid_argument);
  EXPECT_EQ(as_text(ahead.next_block()), "abc");
  EXPECT_THROW(ahead.next_block(4), std::invalid_argument);
  EXPECT_EQ(as_text(ahead.next_block(2)), "bc");
  std::byte byte{};
  EXPECT_THROW(ahead.read({&byte, 1}), std::logic_error);
  EXPECT_THROW(ReadAhead(std::make_unique<TextSource>("abc"), {0, 4, 64}), std::invalid_argument);
  EXPECT_THROW(ReadAhead(std::make_unique<TextSource>("abc"), {10, 1, 64}), std::invalid_argument);
}

TEST(ReadAhead, NothingHasPaddingToo) {
  ReadAhead ahead(std::make_unique<TextSource>(""));
  const std::span<const std::byte> span = ahead.next_block();
  EXPECT_TRUE(span.empty());
  ASSERT_NE(span.data(), nullptr);
  EXPECT_TRUE(padded(span));
}

TEST(ReadAhead, ReadsWhatItsSourceReads) {
  const std::string text = trace_like_text(2'000'000);
  for (const std::string& packed : {text, gzipped(text), zstd_packed(text), gzipped(text).substr(0, 50'000),
                                    gzipped(text) + std::string(10, '\0')}) {
    const File file(packed);
    const Read direct = read_all(*open_bytes(file.path()));
    for (const std::size_t piece_bytes : {1000UL, 4096UL, 5'000'000UL}) {
      ReadAhead ahead(open_bytes(file.path()), {4096, 3, 0});
      const Read read = read_all(ahead, piece_bytes);
      EXPECT_TRUE(read.text == direct.text);
      EXPECT_EQ(read.problem, direct.problem);
      EXPECT_EQ(read.remark, direct.remark);
      EXPECT_EQ(read.encoding, direct.encoding);
      EXPECT_EQ(read.consumed, packed.size());
      EXPECT_EQ(read.file_bytes, packed.size());
    }
  }
}

TEST(ReadAhead, MayBeDestroyedAtAnyTime) {
  const File file(gzipped(trace_like_text(1'000'000)));
  for (int blocks = 0; blocks < 60; ++blocks) {
    ReadAhead ahead(open_bytes(file.path()), {8192, 2 + static_cast<std::size_t>(blocks) % 3, 64});
    for (int i = 0; i < blocks; ++i) EXPECT_FALSE(ahead.next_block().empty());
  }
}

TEST(ReadAhead, AnExceptionComesAfterTheBytesBeforeIt) {
  const std::string text = trace_like_text(10'000);
  {
    ReadAhead ahead(std::make_unique<TextSource>(text, true), {4096, 3, 64});
    std::string got;
    for (int i = 0; i < 3; ++i) got += as_text(ahead.next_block());
    EXPECT_EQ(got, text);
    EXPECT_THROW(ahead.next_block(), std::runtime_error);
    EXPECT_THROW(ahead.next_block(), std::runtime_error);
  }
  ReadAhead ahead(std::make_unique<TextSource>(text, true), {4096, 3, 64});
  std::string got(20'000, '\0');
  EXPECT_EQ(ahead.read(std::as_writable_bytes(std::span<char>(got))), text.size());
  EXPECT_EQ(got.substr(0, text.size()), text);
  EXPECT_THROW(ahead.read(std::as_writable_bytes(std::span<char>(got))), std::runtime_error);
}

}  // namespace
}  // namespace ddpprof::import
