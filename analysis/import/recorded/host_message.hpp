// Ranges in which a job's own code says that a CPU backend carries a message: such backends annotate nothing
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
  std::int64_t bytes = 0;  // 0: not said
};

// "gloo:all_reduce", as torch.profiler calls Gloo's, UCC's and MPI's, with the bytes as the range's payload (a whole
// number, as the package nvtx passes it) or behind the name ("gloo:all_reduce 4096", where names are all that can be
// given). Nothing for other names.
std::optional<HostMessage> host_message(std::string_view name, const store::PayloadColumn& payload);

}  // namespace ddpprof::import
