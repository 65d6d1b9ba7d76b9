// Network interfaces and host names, as several hosts and Gloo would use them.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "runner/host/host.hpp"

namespace ddpprof::host {

struct Interface {
  std::string name;
  std::string state;  // operstate: up, down, or unknown (virtual interfaces)
  bool loopback = false;
  Reading<std::int64_t> mtu_bytes;
  bool hardware = false;  // it belongs to a device; false for a bridge, a tunnel or a container's interface
  Reading<std::int64_t> megabits_per_s;  // reported by the driver; virtual interfaces often have none
  std::vector<std::string> addresses;    // numeric
};
// `live`: also ask this machine for its addresses; a recorded root has none.
std::vector<Interface> read_interfaces(const Host& host, bool live);

struct FabricPort {
  std::string name;  // "mlx5_0/1"
  std::string state, rate;
  std::string layer;     // "InfiniBand", "Ethernet" (RoCE); "" if unknown
  std::string physical;  // "LinkUp", "Disabled", "Polling"; "" if unknown
};
std::vector<FabricPort> read_fabric(const Host& host);  // InfiniBand and RoCE: /sys/class/infiniband

std::string host_name();

// Returns the addresses of a name, resolved as Gloo resolves its own host name. Unknown if the name does not resolve,
// or if the answer takes longer than `limit` (a name server that does not answer).
Reading<std::vector<std::string>> resolve(const std::string& name, std::chrono::milliseconds limit);

}  // namespace ddpprof::host
