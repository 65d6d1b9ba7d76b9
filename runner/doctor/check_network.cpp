// Checks of interfaces and names: loopback for one host, and several hosts.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "runner/doctor/checks.hpp"

namespace ddpprof::doctor {
namespace {

constexpr const char* network_area = "network";

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

void name_check(const Facts& facts, Checks& checks) {
  Check check{network_area, "host name", facts.host_name, Verdict::good, ""};
  const auto variable = facts.environment.find("GLOO_SOCKET_IFNAME");
  const bool chosen = variable != facts.environment.end();
  if (!facts.host_addresses) {
    check.found += ": " + unreadable(facts.host_addresses.why);
    check.verdict = Verdict::note;
    check.advice =
        "ddpprof's ranks do not need it (they use the interface towards MASTER_ADDR), but Python's Gloo "
        "does: add the name to /etc/hosts, or set GLOO_SOCKET_IFNAME";
  } else {
    check.found += " → " + joined(*facts.host_addresses);
    const bool loopback =
        std::all_of(facts.host_addresses->begin(), facts.host_addresses->end(),
                    [](const std::string& address) { return address.starts_with("127.") || address == "::1"; });
    if (loopback && !chosen)
      check.found +=
          ": loopback, correct for one host; with several hosts Python's Gloo would bind an address that the others "
          "cannot reach";
  }
  checks.push_back(check);
  Check interface { network_area, "GLOO_SOCKET_IFNAME", chosen ? variable->second : "not set", Verdict::good, "" };
  const auto named = [&](const host::Interface& one) { return one.name == variable->second; };
  if (chosen && std::none_of(facts.interfaces.begin(), facts.interfaces.end(), named)) {
    interface.verdict = Verdict::bad;
    interface.advice =
        "this interface does not exist, so Python's Gloo fails (ddpprof's ranks ignore it): correct or unset it";
  }
  checks.push_back(interface);
}

// Good ports with equal properties share one line: a host with one port per GPU has eight.
void fabric(const Facts& facts, Checks& checks) {
  std::map<std::string, std::string> alike;
  for (const host::FabricPort& port : facts.fabric) {
    const std::string found = port.state + ", " + port.rate + (port.layer.empty() ? "" : ", " + port.layer);
    if (port.state == "ACTIVE") {
      alike[found] += (alike[found].empty() ? "" : ", ") + port.name;
      continue;
    }
    const std::string physical = port.physical.empty() ? "" : ", " + port.physical;
    checks.push_back({network_area, "fabric " + port.name, found + physical, Verdict::note,
                      port.state == "INIT" ? "the port waits for a subnet manager (opensm)"
                                           : "NCCL does not use it: if it should, check its cable and the switch"});
  }
  for (const auto& [found, names] : alike)
    checks.push_back({network_area, "fabric " + names, found, alike.size() == 1 ? Verdict::good : Verdict::note,
                      alike.size() == 1 ? "" : "ports of different rates: NCCL's channels are as fast as the slowest"});
}

}  // namespace

void check_network(const Facts& facts, Checks& checks) {
  bool loopback_up = false, any_up = false;
  for (const host::Interface& one : facts.interfaces) {
    if (one.loopback) {
      loopback_up = one.state != "down";
      continue;
    }
    const bool up = one.state == "up";
    if (!up && one.addresses.empty()) continue;
    any_up = any_up || up;
    Check check{network_area, one.name, one.state, Verdict::good, ""};
    if (!one.addresses.empty()) check.found += ", " + joined(one.addresses);
    check.found += one.megabits_per_s ? fmt::format(", {} Mbit/s", *one.megabits_per_s)
                                      : ", speed " + unreadable(one.megabits_per_s.why);
    if (one.mtu_bytes) check.found += fmt::format(", MTU {}", *one.mtu_bytes);
    if (one.hardware && one.megabits_per_s && *one.megabits_per_s >= 25'000 && one.mtu_bytes &&
        *one.mtu_bytes <= 1500) {
      check.verdict = Verdict::note;
      check.advice =
          "frames of 1500 bytes take much processor time on a fast link: set MTU 9000 on both ends and the switch";
    }
    if (one.megabits_per_s && *one.megabits_per_s < 10'000 && up) {
      check.verdict = Verdict::note;
      check.advice = fmt::format("between hosts an all-reduce moves at most {:.3g} MB/s here",
                                 static_cast<double>(*one.megabits_per_s) / 8.0);
    }
    checks.push_back(check);
  }
  Check loopback{network_area, "loopback", loopback_up ? "up: ranks of one host use 127.0.0.1" : "down", Verdict::good,
                 ""};
  if (!loopback_up) {
    loopback.verdict = Verdict::bad;
    loopback.advice = "ranks of one host connect over it: ip link set lo up";
  }
  checks.push_back(loopback);
  fabric(facts, checks);
  if (!any_up)
    checks.push_back(
        {network_area, "other hosts", "all interfaces are down", Verdict::note, "only one host can be measured"});
  name_check(facts, checks);
}

}  // namespace ddpprof::doctor
