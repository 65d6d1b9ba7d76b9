// Network interfaces and names: what several hosts, and Gloo, would use.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "runner/host/host.hpp"

namespace ddpprof::host {

struct Interface {
  std::string name;
  std::string state;  // up, down, unknown (a virtual one): operstate
  bool loopback = false;
  Reading<std::int64_t> mtu_bytes;
  bool hardware = false;                 // a device is behind it; not a bridge, a tunnel or a container's end
  Reading<std::int64_t> megabits_per_s;  // what the driver says; virtual interfaces often say nothing
  std::vector<std::string> addresses;    // numeric, of the machine this runs on
};
// `live`: also ask this machine for addresses, which a recorded root has none of.
std::vector<Interface> read_interfaces(const Host& host, bool live);

struct FabricPort {
  std::string name;  // "mlx5_0/1"
  std::string state, rate;
  std::string layer;     // "InfiniBand", "Ethernet" (RoCE); "" where it is not told
  std::string physical;  // "LinkUp", "Disabled", "Polling"; "" where it is not told
};
std::vector<FabricPort> read_fabric(const Host& host);  // InfiniBand and RoCE: /sys/class/infiniband

std::string host_name();

// The addresses that a name stands for, as Gloo asks for its own host's. Unknown when it does not resolve, and when the
// answer takes longer than `limit` (a name server that does not answer).
Reading<std::vector<std::string>> resolve(const std::string& name, std::chrono::milliseconds limit);

}  // namespace ddpprof::host
