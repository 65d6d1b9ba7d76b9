// What NCCL's profiler plugin recorded, put together: each operation with its communicator and its kernel's times.
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

// What NCCL chose for a collective. Nothing where it is not known, or differs between operations of one kernel.
struct NcclChoice {
  std::optional<std::string> datatype;             // "float32"
  std::optional<std::string> algorithm, protocol;  // NCCL's words: "RING", "LL128"
  std::optional<std::int64_t> channels;

  bool operator==(const NcclChoice&) const = default;
  // Keeps what both have.
  void meet(const NcclChoice& other);
};

// One collective or message, as NCCL handed it to the GPU.
struct NcclOperationFact {
  std::int64_t time_ns = 0, tid = 0;
  std::uint64_t group = 0;                    // of those that travel in one kernel; 0: not known
  std::optional<std::uint64_t> communicator;  // its hash
  std::int64_t ranks = 0;                     // of the communicator; 0: not known
  std::optional<std::uint64_t> number;        // within the communicator, equal on all ranks
  std::string function;                       // "AllReduce"
  std::int64_t bytes = 0;                     // of one rank's buffer; 0: not known
  NcclChoice choice;
  bool message = false, captured = false;
  std::optional<Interval> run;  // its kernel's, by the GPU's own timer, laid onto the host's clock
};

// Gathers the records of one shard, in any order.
class NcclOperations {
 public:
  void add(const trace::NcclCommunicatorRecord& record) { communicators_[record.communicator] = record; }
  void add(const trace::NcclOperationRecord& record, std::int64_t tid) { operations_.push_back({record, tid}); }
  void add(const trace::NcclChannelRecord&);  // with a timer below 2^62

  // By time. Once.
  //
  // Numbers: NCCL counts each function of a communicator by itself. An operation's number is that count, with the
  // function above it, so that it is equal on all ranks whatever else each of them saw. None on a communicator where a
  // count comes twice, as a CUDA graph's do.
  //
  // Runs: from the first begin to the last end of the kernel's channels on the GPU's timer, so long as the GPU says.
  // The host saw each begin and end a little late; the least late of them places the run on the host's clock.
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
