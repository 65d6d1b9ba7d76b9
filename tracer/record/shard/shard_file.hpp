// The shard as a file: creates it, grows it ahead of use, hands out chunks.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "tracer/format/shard_format.hpp"

namespace ddpprof::record {

struct ShardOptions {
  std::string directory;        // made when its parent exists
  std::uint64_t max_bytes = 0;  // the file never grows beyond this
};

// /proc/sys/kernel/random/boot_id, always terminated: hosts and starts of them tell each other apart by it.
void read_boot_id(char* out, std::size_t capacity);

class ShardFile {
 public:
  // A fresh `shard-<rank or x>-<pid>[-k].ddps`. nullptr with `error` set when it cannot be made.
  static std::unique_ptr<ShardFile> create(const ShardOptions& options, std::string& error);

  // Closes the file. The mapping stays until the process ends: a thread may still be writing to its chunk.
  ~ShardFile();
  ShardFile(const ShardFile&) = delete;
  ShardFile& operator=(const ShardFile&) = delete;

  // The next chunk, its header filled in for thread `os_tid`. nullptr when the cap is reached or the disk is full but
  // for a rest that is the job's; its pages are reserved on disk beforehand, so that writing to it can never raise
  // SIGBUS. Any thread.
  trace::ChunkHeader* claim(std::int64_t os_tid) noexcept;

  trace::ShardHeader& header() noexcept { return *header_; }
  const std::string& path() const noexcept { return path_; }

  // Around fork(): no thread may be growing the file while the address space is copied.
  void lock_growth() { growing_.lock(); }
  void unlock_growth() { growing_.unlock(); }

 private:
  ShardFile(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}
  bool map(std::uint64_t max_bytes, std::string& error);
  void fill_header();
  int reserve_chunks(std::uint64_t chunks) noexcept;  // errno value, 0 when done
  bool grow(std::uint64_t needed_chunks) noexcept;
  bool is_own(int descriptor) const noexcept;  // refers to this shard's file
  bool hold_descriptor() noexcept;             // with the path opened again where the program closed ours

  std::string path_;
  int limited_by_ = 0;  // what lowered the cap: EFBIG, RLIMIT_FSIZE; ENOMEM, RLIMIT_AS; 0: nothing
  int descriptor_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  char* base_ = nullptr;
  trace::ShardHeader* header_ = nullptr;
  std::atomic<std::uint64_t> reserved_chunks_{0};
  std::mutex growing_;
};

}  // namespace ddpprof::record
