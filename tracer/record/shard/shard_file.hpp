// The file of a shard: creates it, grows it ahead of use, hands out chunks.
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
  std::string directory;        // created if its parent exists
  std::uint64_t max_bytes = 0;  // the file never grows beyond this
};

// Reads /proc/sys/kernel/random/boot_id, which differs between hosts and between starts of a host. `out` is always
// terminated.
void read_boot_id(char* out, std::size_t capacity);

class ShardFile {
 public:
  // Creates `shard-<rank or x>-<pid>[-k].ddps`. Returns nullptr and sets `error` on failure.
  static std::unique_ptr<ShardFile> create(const ShardOptions& options, std::string& error);

  // Closes the file. The mapping stays until the process ends, because threads may still write to their chunks.
  ~ShardFile();
  ShardFile(const ShardFile&) = delete;
  ShardFile& operator=(const ShardFile&) = delete;

  // Returns the next chunk, its header filled in for thread `os_tid`. Returns nullptr if the cap is reached, or if the
  // disk has only the space left that is kept free for the job. The chunk's pages are reserved on disk before, so that
  // writing to them cannot raise SIGBUS. Any thread may call it.
  trace::ChunkHeader* claim(std::int64_t os_tid) noexcept;

  trace::ShardHeader& header() noexcept { return *header_; }
  const std::string& path() const noexcept { return path_; }

  // Held around fork(): no thread may grow the file while the address space is copied.
  void lock_growth() { growing_.lock(); }
  void unlock_growth() { growing_.unlock(); }

 private:
  ShardFile(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}
  bool map(std::uint64_t max_bytes, std::string& error);
  void fill_header();
  int reserve_chunks(std::uint64_t chunks) noexcept;  // returns an errno value, 0: success
  bool grow(std::uint64_t needed_chunks) noexcept;
  bool is_own(int descriptor) const noexcept;  // true if it refers to this shard's file
  bool hold_descriptor() noexcept;             // reopens the path if the program closed our descriptor

  std::string path_;
  int limited_by_ = 0;  // which limit lowered the cap. EFBIG: RLIMIT_FSIZE, ENOMEM: RLIMIT_AS, 0: none
  int descriptor_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  char* base_ = nullptr;
  trace::ShardHeader* header_ = nullptr;
  std::atomic<std::uint64_t> reserved_chunks_{0};
  std::mutex growing_;
};

}  // namespace ddpprof::record
