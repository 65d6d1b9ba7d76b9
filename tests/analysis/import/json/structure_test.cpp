// Processing 64 bytes at a time gives the same result as processing byte by byte.
#include "analysis/import/json/structure.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <string_view>

namespace ddpprof::import {
namespace {

BlockStructure byte_by_byte(const char* block, StringState& state) {
  BlockStructure found;
  for (int i = 0; i < 64; ++i) {
    const std::uint64_t bit = std::uint64_t{1} << i;
    const char c = block[i];
    const bool escaped = state.escaped;
    state.escaped = !escaped && c == '\\';
    if (c == '"' && !escaped) state.inside = !state.inside;
    if (state.inside && c == '\n') found.line_breaks |= bit;
    if (!state.inside && (c == '{' || c == '}' || c == '[' || c == ']')) found.brackets |= bit;
  }
  return found;
}

void expect_same(const std::string& text) {
  StringState fast, slow;
  for (std::size_t at = 0; at + 64 <= text.size(); at += 64) {
    const BlockStructure found = structure_of(text.data() + at, fast);
    const BlockStructure expected = byte_by_byte(text.data() + at, slow);
    ASSERT_EQ(found.brackets, expected.brackets) << text.substr(at, 64);
    ASSERT_EQ(found.line_breaks, expected.line_breaks) << text.substr(at, 64);
    ASSERT_EQ(fast.inside, slow.inside);
    ASSERT_EQ(fast.escaped, slow.escaped);
  }
}

TEST(Structure, AgreesWithOneByteAfterTheOther) {
  std::mt19937 random(21);
  for (const std::string_view alphabet : {std::string_view("\"\\{}[]\n ,:a"), std::string_view("\\\\\\\\\"{"),
                                          std::string_view("\"{}"), std::string_view("\n\"")}) {
    std::string text(64 * 5000, ' ');
    for (char& c : text) c = alphabet[random() % alphabet.size()];
    expect_same(text);
  }
}

TEST(Structure, AgreesOnBytesOfEveryValue) {
  std::mt19937 random(22);
  std::string text(64 * 20'000, ' ');
  for (char& c : text) c = static_cast<char>(random());
  expect_same(text);
}

TEST(Structure, EscapesAndStringsGoOnInTheNextBlock) {
  for (std::size_t backslashes = 0; backslashes < 130; ++backslashes)
    for (const std::string_view before : {"", "\"", "{\""}) {
      std::string text = std::string(before) + std::string(backslashes, '\\') + "\"{}\"[]\"";
      text.resize((text.size() + 127) / 64 * 64, ' ');
      expect_same(text);
    }
}

}  // namespace
}  // namespace ddpprof::import
