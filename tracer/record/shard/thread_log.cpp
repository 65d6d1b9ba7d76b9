#include "tracer/record/shard/thread_log.hpp"

#include <cerrno>

#include "tracer/record/shard/shard_file.hpp"

namespace ddpprof::record {
namespace {

std::atomic<std::uint64_t> range_ids{1};  // 0 is "no range"
constexpr std::uint64_t range_id_block = 4096;

}  // namespace

bool ThreadLog::next_chunk() noexcept {
  const int callers_errno = errno;  // an annotation must not change errno for the traced program
  trace::ChunkHeader* chunk = refused_ ? nullptr : shard_->claim(os_tid_);
  errno = callers_errno;
  if (chunk == nullptr) {
    refused_ = true;
    used_ = capacity_bytes;
    shard_->header().dropped_records.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  chunk_ = chunk;
  data_ = reinterpret_cast<std::byte*>(chunk + 1);
  used_ = 0;
  return true;
}

// Ids are taken in blocks, so that threads do not share a cache line at every range.
void ThreadLog::take_range_ids() noexcept {
  range_id_ = range_ids.fetch_add(range_id_block, std::memory_order_relaxed);
  range_id_end_ = range_id_ + range_id_block;
}

}  // namespace ddpprof::record
