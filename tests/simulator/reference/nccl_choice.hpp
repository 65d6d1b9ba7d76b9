// The algorithm and protocol that NCCL chooses by its own estimate, with NCCL's names.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "simulator/collective/nccl.hpp"

namespace ddpprof::collective::nccl {

// Returns the estimate with the least time, which NCCL chooses; nothing for one rank. Throws like all_reduce_estimates.
inline std::optional<Estimate> all_reduce(const System& system, std::int64_t message_bytes) {
  const std::vector<Estimate> all = all_reduce_estimates(system, message_bytes);
  if (all.empty()) return std::nullopt;
  return *std::min_element(all.begin(), all.end(),
                           [](const Estimate& a, const Estimate& b) { return a.total_s() < b.total_s(); });
}

// Returns for example "Ring/LL128".
inline std::string to_string(const Estimate& estimate) {
  static constexpr std::array<const char*, 4> algorithms = {"Tree", "Ring", "NVLS", "NVLSTree"};
  static constexpr std::array<const char*, 3> protocols = {"LL", "LL128", "Simple"};
  return std::string(algorithms[static_cast<std::size_t>(estimate.algorithm)]) + "/" +
         protocols[static_cast<std::size_t>(estimate.protocol)];
}

}  // namespace ddpprof::collective::nccl
