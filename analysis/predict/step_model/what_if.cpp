#include "analysis/predict/step_model/what_if.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <set>
#include <stdexcept>
#include <utility>

#include "simulator/units/quantity.hpp"

namespace ddpprof::fit {
namespace {

using units::read_number;
using units::Unit;

[[noreturn]] void refuse(std::string_view item, const std::string& expected) {
  throw std::invalid_argument("--what-if " + std::string(item) + ": expected " + expected);
}

bool is_times(std::string_view unit) { return unit == "x" || unit == "×"; }

double read_times(std::string_view item, std::string_view text, const char* example) {
  const auto number = read_number(text);
  if (!number || !is_times(number->second)) refuse(item, std::string("a factor, e.g. ") + example);
  return number->first;
}

LinkChange read_link(std::string_view item, std::string_view text, std::span<const Unit> units, const char* example) {
  const auto number = read_number(text);
  LinkChange change;
  if (number && is_times(number->second)) {
    change.factor = number->first;
    return change;
  }
  const auto unit =
      std::find_if(units.begin(), units.end(), [&](const Unit& one) { return number && one.name == number->second; });
  if (unit == units.end()) refuse(item, std::string("a factor such as 2x, or a value with its unit, e.g. ") + example);
  change.value = number->first * unit->in_base;
  return change;
}

std::int64_t read_count(std::string_view item, std::string_view text, std::int64_t most) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1 || value > most)
    refuse(item, "a whole number, 1 to " + std::to_string(most));
  return value;
}

void read_word(std::string_view item, std::string_view text, std::initializer_list<std::string_view> words) {
  if (std::find(words.begin(), words.end(), text) != words.end()) return;
  std::string list;
  for (const std::string_view word : words) list += (list.empty() ? "" : ", ") + std::string(word);
  refuse(item, "one of " + list);
}

constexpr std::array times = {Unit{"ns", 1e-9}, Unit{"us", 1e-6}, Unit{"µs", 1e-6}, Unit{"ms", 1e-3}, Unit{"s", 1.0}};

}  // namespace

std::string_view to_string(Term term) {
  switch (term) {
    case Term::compute:
      return "compute";
    case Term::sharing:
      return "sharing";
    case Term::host:
      return "host";
    case Term::bandwidth:
      return "bandwidth";
    case Term::latency:
      return "latency";
    case Term::skew:
      return "skew";
    case Term::input:
      return "input";
    case Term::copies:
      return "copies";
  }
  return "";
}

WhatIf parse_what_if(std::span<const std::string> items) {
  WhatIf change;
  std::set<std::string_view> seen;
  for (const std::string& item : items) {
    const std::size_t equals = item.find('=');
    if (equals == std::string::npos) refuse(item, "KEY=VALUE with a key of " + std::string(what_if_keys));
    const std::string_view key = std::string_view(item).substr(0, equals);
    const std::string_view value = std::string_view(item).substr(equals + 1);
    if (!seen.insert(key).second) refuse(item, "each key at most once");
    if (key == "bucket_cap_mb") {
      const auto number = read_number(value);
      if (!number || !number->second.empty() || number->first > 1e6) refuse(item, "MiB above 0, e.g. 50");
      change.bucket_cap_mb = number->first;
    } else if (key == "compression" || key == "precision") {
      read_word(item, value, {"fp16", "bf16"});
      if (change.gradient_bytes != 1.0 || change.model_bytes != 1.0)
        refuse(item, "compression or precision, but not both");
      (key == "precision" ? change.model_bytes : change.gradient_bytes) = 0.5;
    } else if (key == "accumulation") {
      change.accumulation = read_count(item, value, 1'000'000);
    } else if (key == "batch_per_worker") {
      change.batch_per_worker = read_count(item, value, 1'000'000'000);
    } else if (key == "compute") {
      change.compute_speed = read_times(item, value, "compute=2x");
    } else if (key == "host") {
      change.host_speed = read_times(item, value, "host=2x");
    } else if (key == "bandwidth") {
      change.bandwidth =
          read_link(item, value, units::rate_units, "bandwidth=2x, bandwidth=25Gbit/s or bandwidth=3GB/s");
    } else if (key == "latency") {
      change.latency = read_link(item, value, times, "latency=0.5x or latency=20us");
    } else if (key == "overlap") {
      read_word(item, value, {"off"});
      change.overlap = false;
    } else if (key == "strategy") {
      read_word(item, value, {"ddp", "zero1", "zero2", "zero3", "ps", "async-ps"});
      change.strategy = value;
    } else if (key == "reshard_after_forward" || key == "prefetch") {
      read_word(item, value, {"on", "off"});
      (key == "prefetch" ? change.prefetch : change.reshard_after_forward) = value == "on";
    } else if (key == "replicate") {
      change.replicas = read_count(item, value, 100'000);
    } else if (key == "servers") {
      change.servers = read_count(item, value, 100'000);
    } else {
      refuse(item, "a key of " + std::string(what_if_keys));
    }
    change.said.push_back(item);
  }
  if (seen.contains("servers") && !change.strategy.ends_with("ps"))
    throw std::invalid_argument("--what-if servers: expected strategy=ps or strategy=async-ps together with servers");
  return change;
}

}  // namespace ddpprof::fit
