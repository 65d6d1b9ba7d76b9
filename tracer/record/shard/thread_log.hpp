// The writer of one thread: the chunk that it fills, its open ranges, its cache of interned strings.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "tracer/format/shard_format.hpp"

namespace ddpprof::record {

class ShardFile;
struct Schema;
struct StepLoop;

struct InternedString {
  std::uint32_t id;
  std::uint32_t length;
  const char* text() const noexcept { return reinterpret_cast<const char*>(this + 1); }
  std::string_view view() const noexcept { return {text(), length}; }
};

class ThreadLog {
 public:
  static constexpr std::size_t capacity_bytes = trace::chunk_bytes - sizeof(trace::ChunkHeader);

  ThreadLog(ShardFile& shard, std::int64_t os_tid) noexcept : shard_(&shard), os_tid_(os_tid) {}

  // Returns room for one record of `bytes` (a multiple of 8, at most UINT16_MAX). Returns nullptr if the record is
  // dropped, and counts it. After the first refused chunk this thread drops all records: the recorded part of the
  // thread then has an end, but no gaps.
  std::byte* reserve(std::size_t bytes) noexcept {
    if (used_ + bytes > capacity_bytes && !next_chunk()) [[unlikely]]
      return nullptr;
    return data_ + used_;
  }
  // Makes the record written into the last reserve() visible to readers.
  void commit(std::size_t bytes) noexcept {
    used_ += bytes;
    chunk_->used_bytes.store(used_, std::memory_order_release);
  }

  std::int64_t os_tid() const noexcept { return os_tid_; }
  ShardFile& shard() noexcept { return *shard_; }

  std::uint64_t next_range_id() noexcept {
    if (range_id_ == range_id_end_) [[unlikely]]
      take_range_ids();
    return range_id_++;
  }

  // Ranges pushed and not yet popped, by domain id. `inherited`: ranges that a parent process opened before fork().
  // `floor`: while more ranges are open, a pop needs no special treatment.
  struct Depth {
    struct Run {
      std::int32_t first, last;  // levels, `last` excluded
    };
    std::int32_t open = 0;
    std::int32_t inherited = 0;
    std::int32_t floor = 0;
    std::vector<Run> left_out;  // pushes that were not recorded, lowest level first

    bool top_left_out() const noexcept { return !left_out.empty() && left_out.back().last == open; }
  };
  Depth& depth(std::uint16_t domain) {
    if (domain >= depths_.size()) [[unlikely]]
      depths_.resize(domain + 1u);
    return depths_[domain];
  }
  std::vector<Depth>& depths() noexcept { return depths_; }

  // The step that a push of this thread started, while steps are watched. `loop` nullptr: none.
  struct Step {
    StepLoop* loop = nullptr;
    std::int64_t number = 0;
    std::uint16_t domain = 0;
    std::int32_t level = 0;
  };
  Step& step() noexcept { return step_; }
  const Step& step() const noexcept { return step_; }

  // The slot that holds the hash of a name which is known not to be a step.
  std::uint64_t& no_step_slot(std::uint64_t hash) noexcept { return no_steps_[hash >> 32 & (no_steps_.size() - 1)]; }

  struct StringSlot {
    std::uint64_t hash = 0;
    const InternedString* string = nullptr;
  };
  StringSlot& string_slot(std::uint64_t hash) noexcept { return strings_[hash % strings_.size()]; }

  struct SchemaSlot {
    std::uint64_t id = 0;
    std::uint32_t domain = 0;
    const Schema* schema = nullptr;
  };
  SchemaSlot& schema_slot(std::uint64_t id) noexcept { return schemas_[id % schemas_.size()]; }

  // Set while the thread is inside the tracer, so that an annotation in a signal handler does not write into an
  // unfinished record.
  bool entered = false;

  ThreadLog* left_behind = nullptr;  // in a forked child: the logs of the parents' threads, never used again

 private:
  bool next_chunk() noexcept;
  void take_range_ids() noexcept;

  std::byte* data_ = nullptr;
  std::size_t used_ = capacity_bytes;  // no chunk yet: the first reserve() takes one
  trace::ChunkHeader* chunk_ = nullptr;
  ShardFile* shard_;
  std::int64_t os_tid_;
  std::uint64_t range_id_ = 0;
  std::uint64_t range_id_end_ = 0;
  bool refused_ = false;
  std::vector<Depth> depths_ = std::vector<Depth>(8);
  std::array<StringSlot, 512> strings_;
  std::array<SchemaSlot, 16> schemas_;
  Step step_;
  std::array<std::uint64_t, 256> no_steps_{};
};

}  // namespace ddpprof::record
