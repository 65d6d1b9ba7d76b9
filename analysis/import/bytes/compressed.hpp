// The common part of the gzip and zstd sources: the file, and the end with its reason.
#pragma once

#include <memory>
#include <string>

#include "analysis/import/bytes/byte_source.hpp"
#include "analysis/import/bytes/input_file.hpp"

namespace ddpprof::import {

class FileSource : public ByteSource {
 public:
  explicit FileSource(std::unique_ptr<InputFile> file) : file_(std::move(file)) {}

  std::optional<std::string> problem() const override { return problem_; }
  std::optional<std::string> remark() const override { return remark_; }
  std::uint64_t consumed() const override { return file_->position(); }
  std::uint64_t file_bytes() const override { return file_->bytes(); }

 protected:
  // Ends the stream with an error at the file's byte `at`. A read error of the kernel has priority, because it is the
  // cause.
  void fail(std::uint64_t at, const std::string& what);
  // Ends the stream with a remark and skips the rest of the file, which is not another `unit` ("gzip member").
  void pass_over_rest(const std::string& unit);

  std::unique_ptr<InputFile> file_;
  bool ended_ = false;
  std::optional<std::string> problem_, remark_;
};

std::unique_ptr<ByteSource> gzip_source(std::unique_ptr<InputFile> file);
std::unique_ptr<ByteSource> zstd_source(std::unique_ptr<InputFile> file);

bool starts_gzip_member(std::span<const std::byte> bytes);  // needs two bytes
bool starts_zstd_frame(std::span<const std::byte> bytes);   // needs four bytes; skippable frames are frames

}  // namespace ddpprof::import
