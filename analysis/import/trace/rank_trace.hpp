// The data that importers collect of one rank, for every file format: device slices, the host's marks of training, and
// collectives. training.hpp derives the training from it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analysis/import/sort/external_sorter.hpp"
#include "analysis/import/trace/job_facts.hpp"
#include "analysis/import/trace/slice_store.hpp"
#include "analysis/ingest/nccl_operations.hpp"
#include "analysis/ingest/shard_trace.hpp"

namespace ddpprof::import {

// Stores each text once. Texts are numbered in the order of their first use.
class Names {
 public:
  std::uint32_t intern(std::string_view);
  const std::string& text(std::uint32_t id) const { return *texts_[id]; }
  std::size_t size() const { return texts_.size(); }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  std::unordered_map<std::string, std::uint32_t, Hash, std::equal_to<>> ids_;
  std::vector<const std::string*> texts_;
};

struct Span {
  std::int64_t start_ns = 0, end_ns = 0;
};

struct SpanByStart {
  bool operator()(const Span& a, const Span& b) const { return a.start_ns < b.start_ns; }
};

// An operation of the host that computes.
struct HostOperation {
  Span time;
  std::int64_t tid = 0;
};

struct OperationByStart {
  bool operator()(const HostOperation& a, const HostOperation& b) const { return a.time.start_ns < b.time.start_ns; }
};

// A step annotated by the host.
struct StepMark {
  std::int64_t number = 0;
  std::string name;  // "ProfilerStep#4"
  Span time;
};

// The memory that a device's allocator held in tensors after an allocation or a release.
struct MemoryMark {
  std::int64_t at_ns = 0;
  std::int64_t device = 0, allocated_bytes = 0;
};

struct MemoryByTime {
  bool operator()(const MemoryMark& a, const MemoryMark& b) const { return a.at_ns < b.at_ns; }
};

// A gradient accumulated by autograd.
struct GradientMark {
  std::int64_t ready_ns = 0;  // the host's end of the accumulation
  std::int64_t numel = 0;     // 0: shapes were not recorded
  std::int32_t element_bytes = 0;
  std::uint32_t shape = 0;  // number of its name
};

enum class CollectiveOp : std::uint8_t {
  all_reduce,
  broadcast,
  all_gather,
  reduce_scatter,
  barrier,
  send,
  receive,
  all_to_all,
  other
};
inline constexpr std::size_t collective_ops = 9;
// Returns the operation of names such as "allreduce", "_allgather_base", "nccl:all_reduce",
// "ncclDevKernel_AllReduce_…".
CollectiveOp collective_op(std::string_view text);

// Returns the bytes of one element of a PyTorch type ("Float", "float", "c10::BFloat16"); 0: unknown.
std::int32_t element_bytes(std::string_view dtype);

// Returns true for PyTorch types of whole numbers and truth values.
bool is_integral(std::string_view dtype);

// Returns the size of a message; 0 (unknown) if the product is not a valid size, because a file may hold any value.
std::int64_t bytes_of(std::int64_t elements, std::int64_t element_bytes);

// How the host's call of a collective is recorded; the outer records of one collective first.
enum class CollectiveMark : std::uint8_t { c10d, record_param_comms, annotation };
inline constexpr std::size_t collective_marks = 3;

// A collective called by the host.
struct CollectiveCall {
  Span time;
  CollectiveMark mark = CollectiveMark::c10d;
  CollectiveOp op = CollectiveOp::other;
  // The whole buffer of an all-gather and a reduce-scatter. 0: not recorded.
  std::int64_t bytes = 0;
  std::int64_t part_bytes = 0;     // of an all-gather and a reduce-scatter: one rank's part. 0: not recorded
  // The same, if the list of all ranks' parts was not recorded. Gloo then all-reduces each part of a reduce-scatter alone.
  std::int64_t part_elements = 0;
  std::int64_t elements = 0;       // of the bytes; set if shapes were recorded
  std::int32_t element_bytes = 0;  // 0: not recorded
  bool integral = false;           // whole numbers: gradients are never integers
  std::int64_t tid = 0;
  std::optional<std::int64_t> external_id, sequence;
  std::uint32_t group = 0;  // number of its name; 0: the default group
  std::int64_t group_size = 0;
  bool outer = true;  // not nested in another call's record (mark_outer_calls())
  ingest::CallDetails details;
};

// A collective's execution by a device's kernel or a backend's thread.
struct CollectiveRun {
  Span time;
  std::int64_t launch_ns = 0;  // 0: unknown
  CollectiveOp op = CollectiveOp::other;
  std::int64_t bytes = 0;
  std::optional<std::int64_t> correlation, external_id, sequence;
  std::uint32_t group = 0;
  std::int64_t group_size = 0;
  std::int64_t stream = 0;
  std::int64_t tid = 0;            // of the backend's thread, if it ran on the host
  bool integral = false;           // whole numbers: gradients are never integers
  std::int32_t element_bytes = 0;  // 0: not recorded
  bool on_host = false;
  bool unfinished = false;  // the profiler stopped before the run's end was recorded
  ingest::NcclChoice choice;
  std::int64_t kernels = 1;  // that executed it
  ingest::CallDetails details;
};

// The work of FSDP that an annotation is around.
enum class ShardingAction : std::uint8_t {
  root_pre_forward,  // a forward of the whole model begins
  pre_forward,       // before the forward of a unit: gathers its parameters
  post_forward,
  pre_backward,   // before the backward of a unit
  post_backward,  // after it: accumulates the gradients
  all_gather,     // inside of pre_forward, pre_backward or prefetch
  prefetch,       // gathers another unit's parameters ahead
  reduce,         // scatters the gradients; of FSDP1 after the backward of a unit
  other,
};

// An annotation of FSDP2 (fully_shard) or of FSDP1 (FullyShardedDataParallel).
struct ShardingMark {
  Span time;
  std::int64_t tid = 0;
  ShardingAction action = ShardingAction::other;
  std::uint32_t unit = 0;  // number of its name; 0: the root, or no name
  bool nameless = false;   // of FSDP1, whose annotations do not name the unit
};

// The gradients of a unit before they are put into the buffer of a reduce-scatter, without padding.
struct UnitGradients {
  std::int64_t at_ns = 0, tid = 0;
  std::int64_t elements = 0;
};

// How a file names a process group.
struct GroupText {
  std::string name, description;
};

struct RankTrace {
  explicit RankTrace(const SortOptions& sort);

  // Identity of the rank.
  std::optional<std::int64_t> rank, world_size;
  bool world_size_stated = false;        // by distributedInfo or the environment, not by collectives alone
  bool identity_by_collectives = false;  // rank or world size were derived from the collectives' groups
  std::int64_t contradicted_world_size = 0;  // stated, but smaller than a group of most collectives; 0: none
  std::string backend;                   // nccl, gloo, …; empty: not recorded
  std::int64_t pid = 0;
  std::string process, host;
  std::int64_t base_ns = 0;  // add to its times to get nanoseconds since 1970; 0: times already are, or unknown
  std::map<std::string, std::string> versions;
  std::vector<std::string> devices;  // names of the devices
  std::map<std::uint32_t, std::vector<std::int64_t>> group_ranks;
  std::map<std::uint32_t, GroupText> group_texts;
  bool one_group = false;  // the file states that the job has one process group

  Names names;  // number 0 is the empty text
  SliceStore slices;
  std::int64_t whole_graphs = 0;  // CUDA graphs recorded as a whole: the kernels in them are unknown

  std::vector<Span> kept;  // when recording was on; empty: all the time

  std::vector<StepMark> steps;
  std::vector<Span> forwards;    // of DistributedDataParallel
  std::vector<Span> backwards;   // annotated backwards
  std::vector<Span> optimizers;  // Optimizer.step
  std::string optimizer;         // class of the first one, "AdamW"; empty: not recorded
  std::vector<Span> data_waits;  // the data loader's next()
  std::vector<GradientMark> gradients;
  bool gradient_copies = false;  // DDP's copies of reduced buckets were recorded, which end its backward
  std::vector<CollectiveCall> calls;
  std::vector<CollectiveRun> runs;
  ExternalSorter<Span, SpanByStart> backward_ops;  // autograd's functions
  ExternalSorter<Span, SpanByStart> forward_ops;   // operations of layers
  std::int64_t matrix_operations = 0;              // is_matrix_operation(), in forward or backward
  ExternalSorter<MemoryMark, MemoryByTime> memory;
  ExternalSorter<HostOperation, OperationByStart> host_work;  // without operations around others
  // Work of devices that the host launched or that the file has in a form that is not read.
  std::int64_t device_launches = 0, device_events_not_read = 0;
  std::string device_launch, unread_device;  // an example of each: "cudaLaunchKernel", "Ascend Hardware"
  // Advice how to get exact bounds of steps, for the program that recorded the file.
  std::string_view steps_advice = "annotate steps (torch.profiler's schedule with prof.step()) for exact bounds";
  std::int64_t sharding_marks = 0;     // annotations of FSDP1 and FSDP2
  std::vector<ShardingMark> sharding;  // those annotations in detail
  std::vector<UnitGradients> unit_gradients;
  std::int64_t replicated_forwards = 0;  // annotations of DataParallel
  std::optional<JobFacts> job;           // written by ddpprof's Python module
  std::optional<std::int64_t> batch;     // leading dimension of the first operation with shapes in most forwards
  std::int64_t smallest_batch = 0, largest_batch = 0;  // of the steps whose operations are known; 0: none
  bool batch_of_rows = false;  // `batch` is of a matrix product, whose rows may be samples times positions

  std::int64_t repeated_events = 0;  // copies of events of the host, which are left out
  std::int64_t events = 0;
  std::int64_t first_ns = 0, last_ns = 0;  // of the host's events
  bool any_host_event = false;
  void saw_host(std::int64_t start_ns, std::int64_t end_ns);
  // Sets the optimizer from the name of a mark, "Optimizer.step#AdamW.step". Ignores other names.
  void saw_optimizer(std::string_view mark);
};

}  // namespace ddpprof::import
