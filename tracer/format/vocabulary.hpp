// The names and payloads that ddpprof's own worker annotates its steps with, and that ingestion looks for.
//
// The worker emits them through NVTX (domain `domain_name`), so any NVTX tool shows the same ranges. Each payload
// struct is registered once as an NVTX payload schema (payload_schemas.hpp). Ingestion finds a schema by its name and
// reads its fields by their names, so old shards stay readable when a field is added.
#pragma once

#include <cstdint>

namespace ddpprof::vocabulary {

inline constexpr const char* domain_name = "ddpprof";

// Ranges pushed and popped on one thread. `step` carries StepInfo; only `setup` and `checkpoint` are outside one.
inline constexpr const char* setup = "setup";
inline constexpr const char* checkpoint = "checkpoint";  // between two steps: rank 0 writes, the others wait
inline constexpr const char* step = "step";
inline constexpr const char* data_wait = "data_wait";
inline constexpr const char* host_to_device = "host_to_device";
inline constexpr const char* buffers = "buffers";      // buffer broadcast (BatchNorm) before the forward
inline constexpr const char* forward = "forward";      // loss included
inline constexpr const char* backward = "backward";    // until DDP's last wait and copy back
inline constexpr const char* optimizer = "optimizer";  // zeroing the gradients included
// On the data loader's threads, over the steps of the training thread: one batch in the making. Carries LoadInfo.
inline constexpr const char* load_batch = "load_batch";
// DataParallel only. Copies carry CopyInfo, replica_* carry ReplicaInfo and run on the replica's own thread.
inline constexpr const char* replicate = "replicate";
inline constexpr const char* scatter = "scatter";
inline constexpr const char* gather = "gather";
inline constexpr const char* reduce = "reduce";
inline constexpr const char* replica_forward = "replica_forward";
inline constexpr const char* replica_backward = "replica_backward";

// Marks.
// (one mark per parameter carries ParameterInfo; its message is the parameter's name, its schema tells what it is)
inline constexpr const char* bucket_member = "bucket_member";          // BucketMember, at construction and rebuild
inline constexpr const char* grad_ready = "grad_ready";                // int64 payload: parameter index
inline constexpr const char* collective_launch = "collective_launch";  // CollectiveInfo, on the launching thread
inline constexpr const char* clock_sample = "clock_sample";            // ClockSample
inline constexpr const char* loss = "loss";                            // float64 payload, inside its step
inline constexpr const char* learning_rate = "learning_rate";          // float64 payload, inside its step
// float64 payloads, both inside their step or neither: squared norms of the rank's own gradient before the all-reduce
// (on one rank the mean of its micro-batches' own), and of the gradient that the optimizer steps with.
inline constexpr const char* local_gradient_sqr = "local_gradient_sqr";
inline constexpr const char* gradient_sqr = "gradient_sqr";

// Start/end range (may end on another thread): one collective in flight, on the backend's own worker thread.
inline constexpr const char* collective = "collective";  // CollectiveInfo

enum class StepKind : std::int32_t {
  warmup = 0,  // not measured
  measured = 1,
  unwrapped = 2,  // the same step without the DDP wrapper: what communication costs, the simplest way
};

enum class CollectiveOp : std::int32_t {
  all_reduce = 0,
  broadcast = 1,
  all_gather = 2,
  reduce_scatter = 3,
  barrier = 4,
  other = 5
};

struct StepInfo {
  std::int64_t step;     // counts from 0 over the whole process, warm-up included
  std::int32_t kind;     // StepKind
  std::int32_t samples;  // samples this rank trained on in the step (accumulation included)
};
struct CollectiveInfo {
  std::uint64_t communicator;  // hash of the process group's name: equal on every rank
  std::uint64_t sequence;      // counts from 0 per communicator, equal on every rank
  std::int64_t bytes;          // of the tensor that is reduced
  std::int32_t op;             // CollectiveOp
  std::int32_t bucket;         // DDP's bucket index, -1 when it is not a gradient bucket
};
struct CopyInfo {
  std::int64_t bytes;  // copied in all
  std::int32_t replicas;
  std::int32_t reserved;
};
struct ReplicaInfo {
  std::int32_t replica;
  std::int32_t samples;
};
struct LoadInfo {
  std::int64_t batch;   // counts from 0 in the order in which the training thread takes them
  std::int32_t loader;  // thread
  std::int32_t samples;
};
struct ParameterInfo {  // the mark's message is the parameter's name
  std::int64_t index;   // registration order
  std::int64_t numel;
  std::int64_t bytes;
};
struct BucketMember {
  std::int32_t generation;  // 0: first iteration, 1: rebuilt
  std::int32_t bucket;      // launch order
  std::int64_t parameter;
};
struct ClockSample {          // one exchange with rank 0
  std::int64_t local_ns;      // middle of the exchange on this rank's clock
  std::int64_t reference_ns;  // rank 0's clock as it answered
  std::int64_t round_trip_ns;
};

}  // namespace ddpprof::vocabulary
