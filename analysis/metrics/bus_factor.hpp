// The factor between nccl-tests' two bandwidths.
#pragma once

#include <cstdint>
#include <string>

namespace ddpprof::metrics {

// busbw / algbw as nccl-tests defines it: 2(N-1)/N for all_reduce, (N-1)/N for all_gather, reduce_scatter
// and all_to_all, else 1.
inline double bus_factor(const std::string& op, std::int64_t workers) {
  const auto n = static_cast<double>(workers);
  if (op == "all_reduce") return 2.0 * (n - 1.0) / n;
  if (op == "all_gather" || op == "reduce_scatter" || op == "all_to_all") return (n - 1.0) / n;
  return 1.0;
}

}  // namespace ddpprof::metrics
