// Matches NCCL's calls on one process's threads with the launches of its kernels, and so finds each kernel's message.
//
// A call launches its kernel inside its own NVTX range. In a group the calls only collect work; the kernels are
// launched inside the range of the outermost ncclGroupEnd.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analysis/import/nsight/payload.hpp"
#include "analysis/import/trace/rank_trace.hpp"

namespace ddpprof::import {

// The message of an NCCL kernel.
struct Message {
  CollectiveOp op = CollectiveOp::other;
  std::int64_t bytes = 0;  // 0: unknown
  std::optional<std::uint64_t> communicator;
  std::int64_t ranks = 0;  // of the communicator; 0: unknown
  std::optional<std::int64_t> sequence;
  ingest::NcclChoice choice;
};

// Returns true for NCCL's own ranges ("ncclAllReduce"). PyTorch's ranges around them are named "nccl:all_reduce".
bool is_nccl_call(std::string_view name);

// Returns the message of one kernel's operations together.
Message message_of(const std::vector<const ingest::NcclOperationFact*>&);

// Replaces messages from NVTX ranges by messages from NCCL's profiler plugin. Returns the number of kernels for which
// both differ.
std::int64_t prefer(std::unordered_map<std::int64_t, Message>& told_by_ranges,
                    const std::unordered_map<std::int64_t, Message>& told_by_plugin);

// Returns a communicator's hash as a group name.
std::string communicator_name(std::uint64_t hash);

// Sets operation, size and communicator of a rank's runs from `messages`.
void set_messages(RankTrace&, const std::unordered_map<std::int64_t, Message>& messages);

class NcclCalls {
 public:
  void add_range(std::int64_t tid, std::string_view name, Span time, const std::optional<NcclPayload>& payload);
  // A CUDA call that launched an NCCL kernel.
  void add_launch(std::int64_t tid, Span time, std::int64_t correlation);

  // Returns the messages by correlation of the launch; launches without a known call are missing. Call it once.
  std::unordered_map<std::int64_t, Message> match();
  // Returns the same from the records of NCCL's profiler plugin, matched by time: NCCL reports a kernel's operations on
  // the thread that launched it, directly after the launch. Call it after match().
  std::unordered_map<std::int64_t, Message> match(const std::vector<ingest::NcclOperationFact>&) const;

 private:
  enum class Kind : std::uint8_t { call, group_begin, group_end };
  struct Range {
    Span time;
    Kind kind = Kind::call;
    CollectiveOp op = CollectiveOp::other;
    bool point_to_point = false, receives = false;
    std::optional<std::uint64_t> communicator;
    std::int64_t bytes = 0;
  };
  struct Launch {
    Span time;
    std::int64_t correlation = 0;
  };
  struct Thread {
    std::vector<Range> ranges;
    std::vector<Launch> launches;
  };
  Message sum(const std::vector<const Range*>&) const;
  void match_group(const std::vector<const Range*>& calls, const std::vector<const Launch*>& launches,
                   std::unordered_map<std::int64_t, Message>& messages) const;

  std::map<std::int64_t, Thread> threads_;
  std::map<std::uint64_t, std::int64_t> ranks_;  // by communicator
};

}  // namespace ddpprof::import
