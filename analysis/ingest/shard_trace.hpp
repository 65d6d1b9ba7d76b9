// The facts of training in one shard: ranges are matched and payloads decoded, but nothing is summarised yet.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/ingest/intervals.hpp"
#include "analysis/ingest/nccl_operations.hpp"
#include "tracer/format/phase.hpp"
#include "tracer/format/vocabulary.hpp"
#include "tracer/store/clock.hpp"
#include "tracer/store/rows/raw_rows.hpp"
#include "tracer/store/shard/shard_reader.hpp"

namespace ddpprof::ingest {

using trace::PhaseName;

struct StepFact {
  std::int64_t step = 0;
  vocabulary::StepKind kind = vocabulary::StepKind::measured;
  std::int64_t samples = 0;
  Interval time;
};
struct PhaseFact {
  PhaseName name = PhaseName::none;
  Interval time;
  std::optional<std::int64_t> bytes;
  std::int64_t replica = 0;  // or the number of the loader's thread
};
struct GradFact {
  std::int64_t parameter = 0;
  std::int64_t time_ns = 0;
};
struct MemberFact {
  std::int64_t generation = 0, bucket = 0, parameter = 0, time_ns = 0;
};
struct ParameterFact {
  std::int64_t index = 0;
  std::string name;
  std::int64_t numel = 0, bytes = 0;
};
// A number that a mark reports for its step.
enum class StepNumber : std::uint8_t { loss, learning_rate, local_gradient_sqr, gradient_sqr };
inline constexpr std::size_t step_numbers = 4;
struct NumberFact {
  StepNumber what = StepNumber::loss;
  std::int64_t time_ns = 0;
  double value = 0.0;
};
// A collective's call, as a profiler reports it.
struct CallDetails {
  std::optional<std::int64_t> peer;     // of a send or a receive, in the group
  std::optional<bool> asynchronous;     // the call returns without waiting
  std::optional<double> largest_split;  // largest part of an all-to-all / the mean, if the parts differ
};
struct CollectiveFact {
  std::uint64_t communicator = 0, sequence = 0;
  std::int64_t bytes = 0;
  std::int32_t op = 0, bucket = -1;
  std::optional<std::int64_t> launch_ns, start_ns, end_ns;
  bool host_timed = false;  // start and end are from the backend's thread instead of NCCL's kernels
  NcclChoice choice;
  CallDetails details;
};
struct NcclKernelFact {
  Interval time;
  std::uint32_t correlation = 0;
  bool in_graph = false;  // part of a launched CUDA graph
};
struct ApiFact {
  std::uint32_t correlation = 0;
  std::int64_t start_ns = 0;
};
struct RecordedDiagnostic {
  trace::DiagnosticCode code{};
  std::uint64_t count = 0;
  std::string detail;
};

// Totals of one step's activities, for shards with too many activities to store.
struct StepTotals {
  std::int64_t compute_ns = 0, communication_ns = 0, overlapped_ns = 0;
  // Waiting for the host's launches: without any activity, and not waiting for data. Not set without a compute kernel.
  std::optional<std::int64_t> device_idle_ns = std::nullopt;
};

struct ShardTrace {
  store::ShardInfo info;
  store::ShardTally tally;
  std::vector<StepFact> steps;              // complete steps, by start
  store::EventSpan events;                  // of all valid times
  store::EventSpan gpu;                     // of kernels and copies
  std::int64_t open_steps = 0;              // started, but not ended
  std::vector<PhaseFact> phases;            // by start
  std::vector<GradFact> grads;              // by time
  std::vector<MemberFact> members;          // as recorded
  std::vector<ParameterFact> parameters;    // as recorded
  std::vector<NumberFact> numbers;          // by time
  std::vector<CollectiveFact> collectives;  // by (communicator, sequence)
  std::vector<store::ClockExchange> exchanges;
  std::vector<Interval> compute_kernels;
  std::vector<Interval> device_copies, peer_copies;  // copies and sets of any kind; of these, those between devices
  std::vector<Interval> waits;  // of imports without devices: all threads of the rank wait for a collective
  std::vector<NcclKernelFact> nccl_kernels;
  std::vector<NcclOperationFact> nccl_operations;  // by time
  std::int64_t nccl_disagreements = 0;  // collectives that NCCL's plugin reports differently; its report is ignored
  std::int64_t nccl_channel_times = 0;  // collectives timed by NCCL's channels instead of CUPTI
  std::vector<StepTotals> totals;       // if set, one per step: kernels were added up while reading
  std::vector<ApiFact> api_calls;       // for shards with NCCL kernels: their launches
  std::map<std::int64_t, std::string> thread_names;  // by tid
  std::vector<RecordedDiagnostic> diagnostics;
  std::int64_t unmatched_ends = 0;        // pops and range ends without a start
  std::int64_t unended = 0;               // pushes and range starts without an end
  std::int64_t impossible_times = 0;      // events before 0 or 9 years after boot, or with an end before the start
  std::int64_t repeated_collectives = 0;  // records with a repeated (communicator, sequence); the last one is used
  std::int64_t gpu_markers = 0, correlations = 0, overheads = 0;  // read but not stored
  std::int64_t graph_collectives = 0;  // NCCL's kernels in launched CUDA graphs, without a collective
  std::int64_t bad_vocabulary = 0;     // ranges and marks of the vocabulary with an unreadable payload
};

// Receives every event of a shard while it is read, with names instead of ids. Views are valid only during the call.
class RawSink {
 public:
  virtual ~RawSink() = default;
  struct Range {
    std::int64_t tid = 0;
    std::string_view name;
    std::optional<std::string_view> domain;
    store::RangeKind kind{};
    std::int64_t depth = 0, start_ns = 0;
    std::optional<std::int64_t> end_ns;
    store::PayloadColumn payload;
  };
  virtual void range(const Range&) = 0;
  virtual void kernel(const trace::KernelRecord&, std::string_view name) = 0;
  virtual void copy(const trace::CopyRecord&) = 0;
  virtual void api(const trace::ApiRecord&) = 0;
};

// Reads a shard in two passes: definitions, then events. `sink` may be null. Throws store::ShardError if the file
// cannot be read.
ShardTrace read_shard_trace(const store::ShardReader&, RawSink* sink);

}  // namespace ddpprof::ingest
