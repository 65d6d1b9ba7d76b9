#include "runner/launcher/exchange/rendezvous.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <random>
#include <utility>

namespace ddpprof::launcher {
namespace {

using nlohmann::json;

constexpr std::size_t most_named = 8;
constexpr int registration_format = 2;

// Any process that reaches the store can write registrations and decisions there. Text that a rank of ddpprof would not
// write is rejected.
struct NotOurs {};

constexpr std::size_t most_name_bytes = 1024;         // of a host name or version
constexpr std::size_t most_scenario_bytes = 1 << 20;  // a long scenario has about 10 KiB

std::optional<json> parse_object(std::string_view text) {
  json parsed = json::parse(text, nullptr, false);
  if (!parsed.is_object()) return std::nullopt;
  return parsed;
}

const json& member(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) throw NotOurs{};
  return *found;
}

template <class Whole>
Whole whole(const json& value) {
  if (!value.is_number_integer()) throw NotOurs{};
  const bool fits = value.is_number_unsigned() ? std::in_range<Whole>(value.get<std::uint64_t>())
                                               : std::in_range<Whole>(value.get<std::int64_t>());
  if (!fits) throw NotOurs{};
  return value.get<Whole>();
}

std::string text_in(const json& value, std::size_t most_bytes) {
  if (!value.is_string() || value.get_ref<const std::string&>().size() > most_bytes) throw NotOurs{};
  return value.get<std::string>();
}

// Names are printed in messages on other hosts' terminals, so control characters are rejected.
std::string name_in(const json& value) {
  std::string read = text_in(value, most_name_bytes);
  if (std::ranges::any_of(read, [](unsigned char letter) { return letter < ' ' || letter == 127; })) throw NotOurs{};
  return read;
}

int rank_of(const std::string& digits) {
  int rank = -1;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), rank);
  if (error != std::errc() || end != digits.data() + digits.size() || rank < 0) throw NotOurs{};
  return rank;
}

struct YamlValue {
  std::string key;
  std::string_view value;
};

// Reads the output of to_yaml: block maps by indentation, one key per line; lists and texts are on their key's line.
// The other rank's text may be arbitrary: keys longer than any key of a scenario are skipped, so that memory stays in
// proportion to the text.
std::vector<YamlValue> yaml_values(std::string_view yaml) {
  constexpr std::size_t longest_key = 128, deepest = 8;
  std::vector<YamlValue> values;
  std::vector<std::string_view> groups;
  std::size_t begin = 0;
  while (begin < yaml.size()) {
    const std::size_t end = std::min(yaml.find('\n', begin), yaml.size());
    const std::string_view line = yaml.substr(begin, end - begin);
    begin = end + 1;
    const std::size_t indent = line.find_first_not_of(' ');
    const std::size_t colon = line.find(':');
    if (indent == std::string_view::npos || colon == std::string_view::npos) continue;
    groups.resize(std::min(groups.size(), indent / 2));
    const std::string_view name = line.substr(indent, colon < indent ? 0 : colon - indent);
    const std::string_view value = colon + 2 <= line.size() ? line.substr(colon + 2) : "";
    if (value.empty()) {
      if (groups.size() < deepest) groups.push_back(name);
      continue;
    }
    std::size_t bytes = name.size();
    for (const std::string_view group : groups) bytes += group.size() + 1;
    if (bytes > longest_key) continue;
    std::string key;
    for (const std::string_view group : groups) key.append(group) += '.';
    values.push_back({key.append(name), value});
  }
  return values;
}

// Shortens a value to one printable line, because another rank's text may be long or arbitrary.
std::string printable(std::string_view text) {
  constexpr std::size_t longest = 256;
  std::string line(text.substr(0, longest));
  std::ranges::replace_if(
      line, [](unsigned char letter) { return letter < ' ' || letter == 127; }, '?');
  return text.size() > longest ? line + "…" : line;
}

bool is_loopback(std::string_view address) { return address.starts_with("127.") || address == "::1"; }

// Sorts by key. If a key is there twice, the first value counts.
std::map<std::string_view, std::string_view> by_key(const std::vector<YamlValue>& values) {
  std::map<std::string_view, std::string_view> sorted;
  for (const YamlValue& one : values) sorted.emplace(one.key, one.value);
  return sorted;
}

}  // namespace

std::string to_text(const Registration& registration) {
  const json text = {
      {"format", registration_format},     {"rank", registration.rank},         {"world_size", registration.world_size},
      {"host", registration.host},         {"pid", registration.pid},           {"nonce", registration.nonce},
      {"version", registration.version},   {"strategy", registration.strategy}, {"devices", registration.devices},
      {"scenario", registration.scenario}, {"address", registration.address},   {"network", registration.network}};
  return text.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::optional<Registration> registration_from_text(std::string_view text) {
  const auto parsed = parse_object(text);
  if (!parsed) return std::nullopt;
  try {
    if (whole<int>(member(*parsed, "format")) != registration_format) return std::nullopt;
    Registration registration;
    registration.rank = whole<int>(member(*parsed, "rank"));
    registration.world_size = whole<int>(member(*parsed, "world_size"));
    registration.host = name_in(member(*parsed, "host"));
    registration.pid = whole<std::int64_t>(member(*parsed, "pid"));
    registration.nonce = name_in(member(*parsed, "nonce"));
    registration.version = name_in(member(*parsed, "version"));
    registration.strategy = name_in(member(*parsed, "strategy"));
    registration.devices = name_in(member(*parsed, "devices"));
    registration.scenario = text_in(member(*parsed, "scenario"), most_scenario_bytes);
    // A registration of another version may not have these. Its version is then reported as the difference.
    if (parsed->contains("address")) registration.address = name_in(member(*parsed, "address"));
    if (parsed->contains("network")) registration.network = name_in(member(*parsed, "network"));
    return registration;
  } catch (const NotOurs&) {
    return std::nullopt;
  }
}

std::string process_of(const Registration& registration) {
  return fmt::format("process {} on {}", registration.pid, registration.host);
}
std::string name_of(const Registration& registration) {
  return fmt::format("rank {} ({})", registration.rank, process_of(registration));
}

std::string ranks_text(const std::vector<std::string>& all) {
  std::string text;
  const std::size_t named = all.size() > most_named + 1 ? most_named : all.size();
  for (std::size_t i = 0; i < named; ++i) {
    if (i > 0) text += i + 1 == all.size() ? " and " : ", ";
    text += all[i];
  }
  if (named < all.size()) text += fmt::format(" and {} more", all.size() - named);
  return text;
}

std::string draw_nonce() {
  std::random_device device;
  return fmt::format("{:08x}{:08x}", device(), device());
}

std::string first_difference(const std::string& yaml, const std::string& other) {
  if (yaml == other) return "";
  const auto ours = yaml_values(yaml), theirs = yaml_values(other);
  const auto ours_by_key = by_key(ours), theirs_by_key = by_key(theirs);
  const auto value_in = [](const auto& values, std::string_view key) -> std::string_view {
    const auto found = values.find(key);
    return found == values.end() ? "absent" : found->second;
  };
  for (const auto* values : {&ours, &theirs}) {
    for (const YamlValue& one : *values) {
      const std::string_view here = value_in(ours_by_key, one.key), there = value_in(theirs_by_key, one.key);
      if (here != there) return fmt::format("{}: {} and {}", printable(one.key), printable(here), printable(there));
    }
  }
  return "the text";
}

std::string to_text(const Decision& decision) {
  json accepted = json::object();
  for (const auto& [rank, nonce] : decision.accepted) accepted[std::to_string(rank)] = nonce;
  const json text = {
      {"ok", decision.ok}, {"run", decision.run}, {"accepted", std::move(accepted)}, {"message", decision.message}};
  return text.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::optional<Decision> decision_from_text(std::string_view text) {
  const auto parsed = parse_object(text);
  if (!parsed) return std::nullopt;
  try {
    Decision decision;
    const json& ok = member(*parsed, "ok");
    if (!ok.is_boolean()) return std::nullopt;
    decision.ok = ok.get<bool>();
    decision.run = name_in(member(*parsed, "run"));
    decision.message = text_in(member(*parsed, "message"), most_scenario_bytes);
    const json& accepted = member(*parsed, "accepted");
    if (!accepted.is_object()) return std::nullopt;
    for (const auto& [rank, nonce] : accepted.items()) decision.accepted.emplace(rank_of(rank), name_in(nonce));
    return decision;
  } catch (const NotOurs&) {
    return std::nullopt;
  }
}

Rendezvous::Rendezvous(Registration own) : own_(std::move(own)) { registered_.emplace(own_.rank, own_); }

std::string Rendezvous::add(const Registration& registration) {
  const auto differ = [&](const char* what, const auto& ours, const auto& theirs) {
    return fmt::format("the ranks differ in {}: {} has {}, {} has {}; every rank must be started with the same", what,
                       name_of(own_), ours, name_of(registration), theirs);
  };
  if (registration.world_size != own_.world_size) return differ("WORLD_SIZE", own_.world_size, registration.world_size);
  if (registration.rank < 0 || registration.rank >= own_.world_size)
    return fmt::format("{} came to a run of {} ranks: expected a RANK below WORLD_SIZE", name_of(registration),
                       own_.world_size);
  const auto [place, fresh] = registered_.emplace(registration.rank, registration);
  if (!fresh && place->second.nonce != registration.nonce)
    return fmt::format(
        "rank {} came twice, as {} and as {}: expected every process to have a RANK of its own, from 0 "
        "to {}",
        registration.rank, process_of(place->second), process_of(registration), own_.world_size - 1);
  if (registration.version != own_.version) return differ("program versions", own_.version, registration.version);
  if (registration.strategy != own_.strategy) return differ("strategy", own_.strategy, registration.strategy);
  if (registration.devices != own_.devices)
    return fmt::format(
        "the ranks compute on different devices: {} has {}, {} has {}; look at the driver and CUDA_VISIBLE_DEVICES of "
        "the host without GPUs, or set device: cpu for all",
        name_of(own_), own_.devices, name_of(registration), registration.devices);
  if (registration.scenario != own_.scenario)
    return fmt::format(
        "the ranks have different scenarios, {} and {}: {}; every rank must be given the same scenario "
        "and the same --set",
        name_of(own_), name_of(registration), first_difference(own_.scenario, registration.scenario));
  return unreachable(registration);
}

// Returns an error if a rank has a loopback address and another rank is in another network namespace: it would connect
// to itself.
std::string Rendezvous::unreachable(const Registration& registration) const {
  for (const auto& [rank, other] : registered_) {
    const bool registration_is_loopback = is_loopback(registration.address);
    if (!registration_is_loopback && !is_loopback(other.address)) continue;
    if (registration.network == other.network || registration.network.empty() || other.network.empty()) continue;
    const Registration& alone = registration_is_loopback ? registration : other;
    return fmt::format(
        "{} has the loopback address {}, because MASTER_ADDR (or --listen) is loopback on its host; {} cannot reach it "
        "from another host; set MASTER_ADDR to the address by which the other hosts reach this one (/etc/hosts often "
        "maps a host's own name to loopback)",
        name_of(alone), alone.address, name_of(registration_is_loopback ? other : registration));
  }
  return "";
}

std::vector<int> Rendezvous::missing() const {
  std::vector<int> ranks;
  for (int rank = 0; rank < own_.world_size; ++rank)
    if (!registered_.contains(rank)) ranks.push_back(rank);
  return ranks;
}

std::string Rendezvous::absence(double waited_s) const {
  std::vector<std::string> absent, present;
  for (const int rank : missing()) absent.push_back(std::to_string(rank));
  for (const auto& [rank, registration] : registered_) present.push_back(name_of(registration));
  return fmt::format(
      "rank{} {} of {} did not come within {:.3g} s (came: {}); see what the missing rank{} said, and "
      "start {} with the same MASTER_ADDR and MASTER_PORT",
      absent.size() == 1 ? "" : "s", ranks_text(absent), own_.world_size, waited_s, ranks_text(present),
      absent.size() == 1 ? "" : "s", absent.size() == 1 ? "it" : "them");
}

std::string Rendezvous::absence_of_rank_0(const Registration& own, double waited_s) {
  return fmt::format(
      "rank 0 of {} did not come within {:.3g} s; see what it said, and start it with the same MASTER_ADDR and "
      "MASTER_PORT",
      own.world_size, waited_s);
}

Decision Rendezvous::accepted() const {
  Decision decision;
  decision.ok = true;
  decision.run = own_.nonce;
  for (const auto& [rank, registration] : registered_) decision.accepted.emplace(rank, registration.nonce);
  return decision;
}

std::string Rendezvous::too_late(const Registration& late, const std::optional<Registration>& holder,
                                 std::size_t ranks) {
  if (late.world_size != static_cast<int>(ranks))
    return fmt::format(
        "the run that meets here is complete with WORLD_SIZE={}, and {} came to it with WORLD_SIZE={}; every rank must "
        "be started with the same, and each run with a port of its own",
        ranks, name_of(late), late.world_size);
  return fmt::format(
      "the run that meets here is complete, and its rank {} is {}: rank {} was started twice, or two "
      "runs use the same MASTER_ADDR and MASTER_PORT; give each run a port of its own",
      late.rank, holder ? process_of(*holder) : std::string("another process"), late.rank);
}

}  // namespace ddpprof::launcher
