// Counts the hosts of a job from what identifies the host of each rank.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "analysis/import/trace/training.hpp"

namespace ddpprof::import {

// Unknown parts are empty.
struct HostIdentity {
  std::string machine;  // boot id
  std::string name;     // host name
  std::string network;  // network namespace, within one machine
};

// Returns the number of machines: of different boot ids, and of different names where the boot id is unknown; at
// least 1.
std::int64_t hosts_among(std::span<const HostIdentity> ranks);

// Returns a warning if ranks of one machine had different networks, or different host names where the network is
// unknown, as containers have. They count as one host, which is wrong if the link between them stands for a link
// between hosts.
std::optional<Note> note_on_shared_machine(std::span<const HostIdentity> ranks);

}  // namespace ddpprof::import
