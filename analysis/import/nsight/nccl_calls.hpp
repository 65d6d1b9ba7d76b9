// NCCL's calls on one process's threads brought together with the launches of its kernels: what each kernel carried.
//
// A call launches its kernel inside of its own NVTX range. Within a group the calls only collect; the kernels are
// launched inside of the range of the outermost ncclGroupEnd.
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

// What a kernel of NCCL carried.
struct Message {
  CollectiveOp op = CollectiveOp::other;
  std::int64_t bytes = 0;  // 0: not known
  std::optional<std::uint64_t> communicator;
  std::int64_t ranks = 0;  // of the communicator; 0: not known
  std::optional<std::int64_t> sequence;
  ingest::NcclChoice choice;
};

// NCCL's own ranges ("ncclAllReduce"); PyTorch's around them are called "nccl:all_reduce".
bool is_nccl_call(std::string_view name);

// What operations of one kernel carry together.
Message message_of(const std::vector<const ingest::NcclOperationFact*>&);

// Puts what the plugin told in the place of what ranges told; how many kernels the two tell different things of.
std::int64_t prefer(std::unordered_map<std::int64_t, Message>& told_by_ranges,
                    const std::unordered_map<std::int64_t, Message>& told_by_plugin);

// A communicator as a group's name.
std::string communicator_name(std::uint64_t hash);

// Gives the runs of a rank what `messages` say that they carried.
void set_messages(RankTrace&, const std::unordered_map<std::int64_t, Message>& messages);

class NcclCalls {
 public:
  void add_range(std::int64_t tid, std::string_view name, Span time, const std::optional<NcclPayload>& payload);
  // A call of CUDA's that launched a kernel of NCCL.
  void add_launch(std::int64_t tid, Span time, std::int64_t correlation);

  // By the launches' correlation; launches whose call is not known are missing. Once.
  std::unordered_map<std::int64_t, Message> match();
  // The same by what NCCL's profiler plugin recorded, by time: NCCL tells of the operations of a kernel on the thread
  // that launched it, directly after that. After match().
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
  std::map<std::uint64_t, std::int64_t> ranks_;  // of communicators
};

}  // namespace ddpprof::import
