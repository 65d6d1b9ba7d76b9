// Recognises ranges in which a job's own code marks a message of a CPU backend. Such backends annotate nothing
// themselves.
#pragma once

#include <optional>
#include <string_view>

#include "analysis/import/trace/rank_trace.hpp"
#include "tracer/store/rows/raw_rows.hpp"

namespace ddpprof::import {

struct HostMessage {
  std::string_view backend;  // "gloo"
  CollectiveOp op = CollectiveOp::other;
  std::int64_t bytes = 0;  // 0: not given
};

// Parses names such as "gloo:all_reduce", as torch.profiler names collectives of Gloo, UCC and MPI. The bytes are the
// range's payload (a whole number, as the package nvtx passes it) or follow the name ("gloo:all_reduce 4096", if only
// names can be given). Returns none for other names.
std::optional<HostMessage> host_message(std::string_view name, const store::PayloadColumn& payload);

}  // namespace ddpprof::import
