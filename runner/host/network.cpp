#include "runner/host/network.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "runner/host/within.hpp"

namespace ddpprof::host {
namespace {

std::string numeric(const sockaddr* address, socklen_t length) {
  char text[NI_MAXHOST] = "";
  if (getnameinfo(address, length, text, sizeof text, nullptr, 0, NI_NUMERICHOST) != 0) return "";
  return text;
}

void add_addresses(std::vector<Interface>& interfaces) {
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return;
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(all, freeifaddrs);
  for (const ifaddrs* entry = all; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr) continue;
    const int family = entry->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    const auto found = std::find_if(interfaces.begin(), interfaces.end(),
                                    [&](const Interface& one) { return one.name == entry->ifa_name; });
    const std::string address =
        numeric(entry->ifa_addr, family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
    if (found != interfaces.end() && !address.empty()) found->addresses.push_back(address);
  }
}

Reading<std::vector<std::string>> look_up(const std::string& name) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* all = nullptr;
  const int error = getaddrinfo(name.c_str(), nullptr, &hints, &all);
  if (error != 0) return Reading<std::vector<std::string>>::unknown(gai_strerror(error));
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(all, freeaddrinfo);
  std::vector<std::string> addresses;
  for (const addrinfo* entry = all; entry != nullptr; entry = entry->ai_next) {
    const std::string address = numeric(entry->ai_addr, entry->ai_addrlen);
    if (!address.empty() && std::find(addresses.begin(), addresses.end(), address) == addresses.end())
      addresses.push_back(address);
  }
  return Reading<std::vector<std::string>>::of(std::move(addresses));
}

}  // namespace

std::vector<Interface> read_interfaces(const Host& host, bool live) {
  std::vector<Interface> interfaces;
  for (const std::string& name : host.names("/sys/class/net")) {
    const std::string folder = "/sys/class/net/" + name;
    Interface found;
    found.name = name;
    const Reading<std::string> state = host.line(folder + "/operstate");
    if (!state) continue;  // files such as bonding_masters have no state
    found.state = *state;
    found.loopback = host.number(folder + "/type").value.value_or(0) == 772;  // ARPHRD_LOOPBACK
    found.mtu_bytes = host.number(folder + "/mtu");
    found.hardware = !host.names(folder + "/device").empty();
    found.megabits_per_s = host.number(folder + "/speed");
    if (found.megabits_per_s && *found.megabits_per_s <= 0)
      found.megabits_per_s =
          Reading<std::int64_t>::unknown("the driver reports no speed (a virtual interface, or no link)");
    interfaces.push_back(std::move(found));
  }
  if (live) add_addresses(interfaces);
  return interfaces;
}

std::vector<FabricPort> read_fabric(const Host& host) {
  std::vector<FabricPort> ports;
  for (const std::string& device : host.names("/sys/class/infiniband")) {
    for (const std::string& port : host.names("/sys/class/infiniband/" + device + "/ports")) {
      const std::string folder = "/sys/class/infiniband/" + device + "/ports/" + port;
      const auto behind_number = [](const std::string& text) {  // "4: ACTIVE"
        return text.substr(text.find(' ') == std::string::npos ? 0 : text.find(' ') + 1);
      };
      ports.push_back({device + "/" + port,
                       behind_number(host.line(folder + "/state").value.value_or("state not readable")),
                       host.line(folder + "/rate").value.value_or("rate not readable"),
                       host.line(folder + "/link_layer").value.value_or(""),
                       behind_number(host.line(folder + "/phys_state").value.value_or(""))});
    }
  }
  return ports;
}

std::string host_name() {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  return name;
}

Reading<std::vector<std::string>> resolve(const std::string& name, std::chrono::milliseconds limit) {
  auto answer = within(limit, [name] { return look_up(name); });
  return answer ? std::move(*answer) : Reading<std::vector<std::string>>::unknown(no_answer(limit));
}

}  // namespace ddpprof::host
