// One event of a Chrome-format trace, as text and numbers. KinetoReader interprets it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace ddpprof::import {

// Views are valid until the next event is read.
struct Event {
  char phase = 0;  // `ph`; 0: missing
  std::string_view name, category;
  std::optional<std::int64_t> start_ns, duration_ns;  // none: missing
  std::string_view pid, tid;                          // as written, without quotes

  // The members of `args` that PyTorch's and AMD's profilers write; none: missing.
  struct Arguments {
    std::optional<std::int64_t> correlation, external_id, device, stream, bytes, callback;
    std::optional<std::int64_t> sequence_number, forward_thread;  // of autograd
    std::optional<std::int64_t> in_elements, out_elements, group_size, collective_sequence;
    std::optional<std::int64_t> group_start,
        group_stride;  // the group's first rank, and the distance between its ranks
    std::optional<std::int64_t> registers, shared_bytes;
    std::optional<std::int64_t> total_allocated, device_id, device_type;  // of an allocator event
    std::int64_t grid = 0, block = 0;                                     // products of their three dimensions
    std::optional<std::int64_t> source_rank, target_rank;                 // of a receive and of a send
    std::optional<bool> asynchronous;        // the collective's call returns without waiting
    std::string_view in_splits, out_splits;  // of an all-to-all: elements for each rank, a list
    std::string_view collective, dtype, group, group_description, group_ranks;
    std::string_view communicator;               // `Comms Id`
    std::string_view input_shapes, input_types;  // JSON
    bool unfinished = false;                     // `finished` is false: the profiler stopped before the operation ended
    std::string_view label;                      // of metadata: `name`, `labels`
    std::string_view kernel;                     // AMD: the demangled kernel name
  } arguments;
};

}  // namespace ddpprof::import
