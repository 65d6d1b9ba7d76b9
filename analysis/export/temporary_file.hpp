// A new file beside another file, under an unused name, which can replace the other file.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

namespace ddpprof::export_ {

class TemporaryFile {
 public:
  // Creates an empty file "<target><what>.<number>". The number is the process's, or the next one that is free: an
  // existing file is not overwritten, nor a file that SQLite would take for the new file's journal. Throws
  // std::filesystem::filesystem_error.
  TemporaryFile(std::filesystem::path target, const char* what) : target_(std::move(target)) {
    for (std::int64_t number = getpid();; ++number) {
      path_ = target_;
      path_ += what + ("." + std::to_string(number));
      if (has_companion()) continue;
      const int file = open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      if (file >= 0) {
        close(file);
        return;
      }
      if (errno != EEXIST)
        throw std::filesystem::filesystem_error("cannot be created", target_,
                                                std::error_code(errno, std::generic_category()));
    }
  }
  ~TemporaryFile() {  // removes the file unless it was placed
    std::error_code ignored;
    if (!placed_) std::filesystem::remove(path_, ignored);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  const std::filesystem::path& path() const { return path_; }
  const std::filesystem::path& target() const { return target_; }

  void take_place() {  // throws std::filesystem::filesystem_error
    std::filesystem::rename(path_, target_);
    placed_ = true;
  }

 private:
  bool has_companion() const {
    std::error_code ignored;
    for (const char* end : {"-journal", "-wal", "-shm"})
      if (std::filesystem::exists(std::filesystem::symlink_status(path_.string() + end, ignored))) return true;
    return false;
  }

  std::filesystem::path target_, path_;
  bool placed_ = false;
};

}  // namespace ddpprof::export_
