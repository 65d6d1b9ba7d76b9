// Plain files, and files that cannot be read.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <thread>

#include "tests/analysis/import/bytes/packed.hpp"

namespace ddpprof::import {
namespace {

using testing::HasSubstr;

TEST(PlainBytes, ComeAsTheyAreInPiecesOfAnySize) {
  const std::string text = trace_like_text(1'500'000);  // larger than the buffer that is used to detect the format
  const File file(text);
  for (const std::size_t piece_bytes : {1UL << 12, 524'288UL, 524'289UL, 1UL << 21}) {
    const Read read = read_all(*open_bytes(file.path()), piece_bytes);
    EXPECT_TRUE(read.text == text) << piece_bytes;
    EXPECT_EQ(read.problem + read.remark, "");
    EXPECT_EQ(read.encoding, Encoding::plain);
    EXPECT_EQ(read.consumed, text.size());
    EXPECT_EQ(read.file_bytes, text.size());
  }
}

TEST(PlainBytes, NoByteAndOneByteArePlain) {
  for (const std::string text : {"", "{", "\x1f", "\x28"}) {
    const Read read = read_packed(text, 1);
    EXPECT_EQ(read.text, text);
    EXPECT_EQ(read.problem + read.remark, "");
    EXPECT_EQ(read.encoding, Encoding::plain);
  }
}

TEST(PlainBytes, ConsumedFollowsWhatWasRead) {
  const File file(trace_like_text(1'000'000));
  const auto source = open_bytes(file.path());
  EXPECT_EQ(source->consumed(), 0U);
  std::string piece(1000, '\0');
  source->read(std::as_writable_bytes(std::span<char>(piece)));
  EXPECT_EQ(source->consumed(), 1000U);
}

TEST(PlainBytes, APipeIsReadToItsEnd) {
  const File place("");
  const std::filesystem::path pipe = place.path().string() + ".pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const std::string text = trace_like_text(300'000), packed = gzipped(text);
  std::thread writer([&] { std::ofstream(pipe, std::ios::binary) << packed; });
  const Read read = read_all(*open_bytes(pipe));
  writer.join();
  std::filesystem::remove(pipe);
  EXPECT_TRUE(read.text == text);
  EXPECT_EQ(read.problem, "");
  EXPECT_EQ(read.file_bytes, 0U);
}

std::string open_error(const std::filesystem::path& path) {
  try {
    open_bytes(path);
  } catch (const OpenError& error) {
    return error.what();
  }
  return "opened";
}

TEST(PlainBytes, WhatCannotBeOpenedIsSaidPlainly) {
  EXPECT_THAT(open_error("/nowhere/trace.json"), HasSubstr("/nowhere/trace.json: cannot be opened: No such file"));
  const std::string folder = std::filesystem::temp_directory_path().string();
  EXPECT_THAT(open_error(folder), HasSubstr(folder + ": is a folder"));
}

TEST(PlainBytes, AnErrorOfTheKernelIsTheProblem) {
  // A process's memory can be opened, but address 0 is not mapped: the read fails.
  const Read read = read_all(*open_bytes("/proc/self/mem"));
  EXPECT_EQ(read.text, "");
  EXPECT_THAT(read.problem, HasSubstr("/proc/self/mem: cannot be read beyond byte 0: Input/output error"));
}

}  // namespace
}  // namespace ddpprof::import
