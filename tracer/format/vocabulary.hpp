// The names and payloads with which ddpprof's worker annotates its steps, and which ingestion reads.
//
// The worker emits them through NVTX (domain `domain_name`), so any NVTX tool shows the same ranges. Each payload
// struct is registered once as an NVTX payload schema (payload_schemas.hpp). Ingestion finds a schema by its name and
// reads its fields by their names, so old shards stay readable when a field is added.
#pragma once

#include <cstdint>

namespace ddpprof::vocabulary {

inline constexpr const char* domain_name = "ddpprof";

// Ranges pushed and popped on one thread. `step` carries StepInfo. `setup` and `checkpoint` are outside steps; all
// other ranges are inside one.
inline constexpr const char* setup = "setup";
inline constexpr const char* checkpoint = "checkpoint";  // between two steps: rank 0 writes it, the other ranks wait
inline constexpr const char* step = "step";
inline constexpr const char* data_wait = "data_wait";
inline constexpr const char* host_to_device = "host_to_device";
inline constexpr const char* buffers = "buffers";      // buffer broadcast (BatchNorm) before the forward pass
inline constexpr const char* forward = "forward";      // includes the loss
inline constexpr const char* backward = "backward";    // until DDP has waited for and copied back its last bucket
inline constexpr const char* optimizer = "optimizer";  // includes zeroing the gradients
// On a data loader thread, parallel to the steps of the training thread: one batch is made. Carries LoadInfo.
inline constexpr const char* load_batch = "load_batch";
// DataParallel only. Copies carry CopyInfo. replica_* carry ReplicaInfo and run on the replica's thread.
inline constexpr const char* replicate = "replicate";
inline constexpr const char* scatter = "scatter";
inline constexpr const char* gather = "gather";
inline constexpr const char* reduce = "reduce";
inline constexpr const char* replica_forward = "replica_forward";
inline constexpr const char* replica_backward = "replica_backward";

// Marks.
// One mark per parameter carries ParameterInfo. Its message is the parameter's name; only its schema identifies it.
inline constexpr const char* bucket_member = "bucket_member";          // BucketMember, at construction and rebuild
inline constexpr const char* grad_ready = "grad_ready";                // int64 payload: parameter index
inline constexpr const char* collective_launch = "collective_launch";  // CollectiveInfo, on the launching thread
inline constexpr const char* clock_sample = "clock_sample";            // ClockSample
inline constexpr const char* loss = "loss";                            // float64 payload, inside its step
inline constexpr const char* learning_rate = "learning_rate";          // float64 payload, inside its step
// float64 payloads. A step has both marks or none. local_gradient_sqr: squared norm of the rank's own gradient before
// the all-reduce; on one rank the mean over its micro-batches. gradient_sqr: squared norm of the gradient that the
// optimizer uses.
inline constexpr const char* local_gradient_sqr = "local_gradient_sqr";
inline constexpr const char* gradient_sqr = "gradient_sqr";

// Start/end range (may end on another thread): one collective in flight, on a worker thread of the backend.
inline constexpr const char* collective = "collective";  // CollectiveInfo

enum class StepKind : std::int32_t {
  warmup = 0,  // not measured
  measured = 1,
  unwrapped = 2,  // the same step without the DDP wrapper: the difference is the cost of communication
  untraced = 3,   // timed without the profiler; recorded by ddpprof's Python module only
};

enum class CollectiveOp : std::int32_t {
  all_reduce = 0,
  broadcast = 1,
  all_gather = 2,
  reduce_scatter = 3,
  barrier = 4,
  other = 5,
  send = 6,
  receive = 7,
  all_to_all = 8
};

struct StepInfo {
  std::int64_t step;     // counts from 0 over the process, including warm-up
  std::int32_t kind;     // StepKind
  std::int32_t samples;  // of this rank in this step, over all accumulated batches
};
struct CollectiveInfo {
  std::uint64_t communicator;  // hash of the process group's name; equal on every rank
  std::uint64_t sequence;      // counts from 0 per communicator; equal on every rank
  std::int64_t bytes;          // of the tensor
  std::int32_t op;             // CollectiveOp
  std::int32_t bucket;         // index of DDP's gradient bucket; -1: not a gradient bucket
};
struct CopyInfo {
  std::int64_t bytes;  // in total
  std::int32_t replicas;
  std::int32_t reserved;
};
struct ReplicaInfo {
  std::int32_t replica;
  std::int32_t samples;
};
struct LoadInfo {
  std::int64_t batch;   // counts from 0 in the order in which the training thread uses them
  std::int32_t loader;  // number of the loader's thread
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
  std::int64_t reference_ns;  // rank 0's clock at its answer
  std::int64_t round_trip_ns;
};

}  // namespace ddpprof::vocabulary
