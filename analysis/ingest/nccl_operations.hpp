// Combines the records of NCCL's profiler plugin: each operation with its communicator and its kernel's times.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/ingest/intervals.hpp"
#include "tracer/format/shard_format.hpp"

namespace ddpprof::ingest {

class Definitions;

// The choices of NCCL for a collective. nullopt: unknown, or different between the operations of one kernel.
struct NcclChoice {
  std::optional<std::string> datatype;             // "float32"
  std::optional<std::string> algorithm, protocol;  // in NCCL's terms: "RING", "LL128"
  std::optional<std::int64_t> channels;

  bool operator==(const NcclChoice&) const = default;
  // Keeps the values that are equal in both.
  void meet(const NcclChoice& other);
};

// One collective or message, as NCCL handed it to the GPU.
struct NcclOperationFact {
  std::int64_t time_ns = 0, tid = 0;
  std::uint64_t group = 0;                    // equal for operations in one kernel; 0: unknown
  std::optional<std::uint64_t> communicator;  // its hash
  std::int64_t ranks = 0;                     // of the communicator; 0: unknown
  std::optional<std::uint64_t> number;        // within the communicator, equal on all ranks
  std::string function;                       // "AllReduce"
  std::int64_t bytes = 0;                     // of one rank's buffer; 0: unknown
  NcclChoice choice;
  bool message = false, captured = false;
  std::optional<Interval> run;  // of its kernel, by the GPU's timer, converted to the host's clock
};

// Gathers the records of one shard, in any order.
class NcclOperations {
 public:
  void add(const trace::NcclCommunicatorRecord& record) { communicators_[record.communicator] = record; }
  void add(const trace::NcclOperationRecord& record, std::int64_t tid) { operations_.push_back({record, tid}); }
  void add(const trace::NcclChannelRecord&);  // with a timer below 2^62

  // Returns the operations by time. Call it once.
  //
  // Numbers: NCCL counts the calls of each function of a communicator separately. An operation's number combines that
  // count with the function, so that it is equal on all ranks. A communicator has no numbers if a count
  // occurs twice, as with CUDA graphs.
  //
  // Runs: from the first start to the last end of the kernel's channels on the GPU's timer. The host noticed each start
  // and end a little late. The smallest delay converts the run to the host's clock.
  std::vector<NcclOperationFact> finish(const Definitions&);

 private:
  struct Recorded {
    trace::NcclOperationRecord record;
    std::int64_t tid = 0;
  };
  struct Channel {
    std::optional<trace::NcclChannelRecord> begin, end;
  };
  void number(std::vector<NcclOperationFact>&) const;
  void place(std::vector<NcclOperationFact>&) const;

  std::map<std::uint64_t, trace::NcclCommunicatorRecord> communicators_;
  std::vector<Recorded> operations_;
  std::map<std::uint64_t, Channel> channels_;  // by event
};

}  // namespace ddpprof::ingest
