#include "runner/launcher/roll_call.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>
#include <utility>

namespace ddpprof::launcher {
namespace {

using nlohmann::json;

constexpr std::size_t most_named = 8;
constexpr int card_format = 2;

std::optional<json> parse_object(std::string_view text) {
  json parsed = json::parse(text, nullptr, false);
  if (!parsed.is_object()) return std::nullopt;
  return parsed;
}

// Of to_yaml's output: block maps by indentation, one key a line; lists and texts stand on their key's line.
std::vector<std::pair<std::string, std::string>> yaml_values(const std::string& yaml) {
  std::vector<std::pair<std::string, std::string>> values;
  std::vector<std::string> groups;
  std::size_t begin = 0;
  while (begin < yaml.size()) {
    const std::size_t end = std::min(yaml.find('\n', begin), yaml.size());
    const std::string line = yaml.substr(begin, end - begin);
    begin = end + 1;
    const std::size_t indent = line.find_first_not_of(' ');
    const std::size_t colon = line.find(':');
    if (indent == std::string::npos || colon == std::string::npos) continue;
    groups.resize(std::min(groups.size(), indent / 2));
    std::string key;
    for (const std::string& group : groups) key += group + ".";
    const std::string name = line.substr(indent, colon - indent);
    const std::string value = colon + 2 <= line.size() ? line.substr(colon + 2) : "";
    if (value.empty()) {
      groups.push_back(name);
    } else {
      values.emplace_back(key + name, value);
    }
  }
  return values;
}

}  // namespace

std::string to_text(const Card& card) {
  const json text = {{"format", card_format},    {"rank", card.rank},         {"world_size", card.world_size},
                     {"host", card.host},        {"pid", card.pid},           {"nonce", card.nonce},
                     {"version", card.version},  {"strategy", card.strategy}, {"devices", card.devices},
                     {"scenario", card.scenario}};
  return text.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::optional<Card> card_from_text(std::string_view text) {
  const auto parsed = parse_object(text);
  if (!parsed) return std::nullopt;
  try {
    if (parsed->at("format").get<int>() != card_format) return std::nullopt;
    Card card;
    parsed->at("rank").get_to(card.rank);
    parsed->at("world_size").get_to(card.world_size);
    parsed->at("host").get_to(card.host);
    parsed->at("pid").get_to(card.pid);
    parsed->at("nonce").get_to(card.nonce);
    parsed->at("version").get_to(card.version);
    parsed->at("strategy").get_to(card.strategy);
    parsed->at("devices").get_to(card.devices);
    parsed->at("scenario").get_to(card.scenario);
    return card;
  } catch (const json::exception&) {
    return std::nullopt;
  }
}

std::string process_of(const Card& card) { return fmt::format("process {} on {}", card.pid, card.host); }
std::string name_of(const Card& card) { return fmt::format("rank {} ({})", card.rank, process_of(card)); }

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
  const auto value_in = [](const auto& values, const std::string& key) -> std::string {
    const auto found = std::ranges::find(values, key, [](const auto& entry) { return entry.first; });
    return found == values.end() ? "absent" : found->second;
  };
  for (const auto* values : {&ours, &theirs}) {
    for (const auto& [key, value] : *values) {
      const std::string here = value_in(ours, key), there = value_in(theirs, key);
      if (here != there) return fmt::format("{}: {} and {}", key, here, there);
    }
  }
  return "the text";
}

std::string to_text(const Verdict& verdict) {
  json accepted = json::object();
  for (const auto& [rank, nonce] : verdict.accepted) accepted[std::to_string(rank)] = nonce;
  const json text = {
      {"ok", verdict.ok}, {"run", verdict.run}, {"accepted", std::move(accepted)}, {"message", verdict.message}};
  return text.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::optional<Verdict> verdict_from_text(std::string_view text) {
  const auto parsed = parse_object(text);
  if (!parsed) return std::nullopt;
  try {
    Verdict verdict;
    parsed->at("ok").get_to(verdict.ok);
    parsed->at("run").get_to(verdict.run);
    parsed->at("message").get_to(verdict.message);
    for (const auto& [rank, nonce] : parsed->at("accepted").items())
      verdict.accepted.emplace(std::stoi(rank), nonce.template get<std::string>());
    return verdict;
  } catch (const std::exception&) {  // json's, or stoi's
    return std::nullopt;
  }
}

RollCall::RollCall(Card own) : own_(std::move(own)) { came_.emplace(own_.rank, own_); }

std::string RollCall::enter(const Card& card) {
  const auto differ = [&](const char* what, const auto& ours, const auto& theirs) {
    return fmt::format("the ranks differ in {}: {} has {}, {} has {}; every rank must be started with the same", what,
                       name_of(own_), ours, name_of(card), theirs);
  };
  if (card.world_size != own_.world_size) return differ("WORLD_SIZE", own_.world_size, card.world_size);
  if (card.rank < 0 || card.rank >= own_.world_size)
    return fmt::format("{} came to a run of {} ranks: expected a RANK below WORLD_SIZE", name_of(card),
                       own_.world_size);
  const auto [place, fresh] = came_.emplace(card.rank, card);
  if (!fresh && place->second.nonce != card.nonce)
    return fmt::format(
        "rank {} came twice, as {} and as {}: expected every process to have a RANK of its own, from 0 "
        "to {}",
        card.rank, process_of(place->second), process_of(card), own_.world_size - 1);
  if (card.version != own_.version) return differ("program versions", own_.version, card.version);
  if (card.strategy != own_.strategy) return differ("strategy", own_.strategy, card.strategy);
  if (card.devices != own_.devices)
    return fmt::format(
        "the ranks compute on different devices: {} has {}, {} has {}; look at the driver and CUDA_VISIBLE_DEVICES of "
        "the host without GPUs, or set device: cpu for all",
        name_of(own_), own_.devices, name_of(card), card.devices);
  if (card.scenario != own_.scenario)
    return fmt::format(
        "the ranks have different scenarios, {} and {}: {}; every rank must be given the same scenario "
        "and the same --set",
        name_of(own_), name_of(card), first_difference(own_.scenario, card.scenario));
  return "";
}

std::vector<int> RollCall::missing() const {
  std::vector<int> ranks;
  for (int rank = 0; rank < own_.world_size; ++rank)
    if (!came_.contains(rank)) ranks.push_back(rank);
  return ranks;
}

std::string RollCall::absence(double waited_s) const {
  std::vector<std::string> absent, present;
  for (const int rank : missing()) absent.push_back(std::to_string(rank));
  for (const auto& [rank, card] : came_) present.push_back(name_of(card));
  return fmt::format(
      "rank{} {} of {} did not come within {:.3g} s (came: {}); see what the missing rank{} said, and "
      "start {} with the same MASTER_ADDR and MASTER_PORT",
      absent.size() == 1 ? "" : "s", ranks_text(absent), own_.world_size, waited_s, ranks_text(present),
      absent.size() == 1 ? "" : "s", absent.size() == 1 ? "it" : "them");
}

Verdict RollCall::accepted() const {
  Verdict verdict;
  verdict.ok = true;
  verdict.run = own_.nonce;
  for (const auto& [rank, card] : came_) verdict.accepted.emplace(rank, card.nonce);
  return verdict;
}

std::string RollCall::too_late(const Card& late, const std::optional<Card>& holder, std::size_t ranks) {
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
