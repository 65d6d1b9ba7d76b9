#include "analysis/import/ranks/result_facts.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <initializer_list>

namespace ddpprof::ranks {
namespace {

using nlohmann::json;

struct Range {
  std::int64_t least, most;
};

constexpr Range times_ns{0, std::int64_t{1} << 56};                         // two years
constexpr Range summed_ns{0, std::int64_t{1} << 60};                        // over the threads of a process
constexpr Range bytes_or_counts{0, std::int64_t{1} << 50};                  // a petabyte
constexpr Range events{0, std::int64_t{1} << 42};                           // the sum over a million ranks still fits
constexpr Range processors{0, std::int64_t{1} << 20};                       // or threads, or devices
constexpr Range processes{0, std::int64_t{1} << 31};                        // a process's number
constexpr Range ticks_ns{-(std::int64_t{1} << 60), std::int64_t{1} << 60};  // the kernel's idle time can decrease
constexpr std::int64_t longest_run_ns = std::int64_t{1} << 62;              // the sum of all steps

std::string words(Range range) { return fmt::format("from {} to {}", range.least, range.most); }

std::string kind(const json& value) {
  switch (value.type()) {
    case json::value_t::string:
      return "a text";
    case json::value_t::array:
      return "a list";
    case json::value_t::object:
      return "an object";
    case json::value_t::boolean:
      return "true or false";
    case json::value_t::null:
      return "null";
    default:
      return value.dump();
  }
}

[[noreturn]] void refuse(const std::string& key, const json& value, std::string expected) {
  throw WrongFact{fmt::format("'{}' is {}", key, kind(value)), std::move(expected)};
}

bool is_whole(const json& value, Range range) {
  if (!value.is_number_integer()) return false;
  if (value.is_number_unsigned())
    return value.get<std::uint64_t>() <= static_cast<std::uint64_t>(range.most) &&
           value.get<std::int64_t>() >= range.least;
  return value.get<std::int64_t>() >= range.least && value.get<std::int64_t>() <= range.most;
}

// An object of the result, and the prefix of its keys in messages. The checks throw WrongFact.
class Facts {
 public:
  Facts(const json& object, std::string prefix) : object_(object), prefix_(std::move(prefix)) {}

  const json* find(const char* key) const {
    const auto found = object_.find(key);
    return found == object_.end() ? nullptr : &*found;
  }
  void texts(std::initializer_list<const char*> keys) const {
    for (const char* key : keys)
      if (const json* value = find(key); value && !value->is_string()) refuse(prefix_ + key, *value, "a text");
  }
  void booleans(std::initializer_list<const char*> keys) const {
    for (const char* key : keys)
      if (const json* value = find(key); value && !value->is_boolean()) refuse(prefix_ + key, *value, "true or false");
  }
  void whole(Range range, std::initializer_list<const char*> keys) const {
    for (const char* key : keys)
      if (const json* value = find(key); value && !is_whole(*value, range))
        refuse(prefix_ + key, *value, "a whole number " + words(range));
  }
  void numbers(Range range, std::initializer_list<const char*> keys) const {
    for (const char* key : keys)
      if (const json* value = find(key); value && !is_number(*value, range))
        refuse(prefix_ + key, *value, "a number " + words(range));
  }
  void not_negative(std::initializer_list<const char*> keys) const {
    for (const char* key : keys)
      if (const json* value = find(key);
          value && !(value->is_number() && value->get<double>() >= 0.0 && std::isfinite(value->get<double>())))
        refuse(prefix_ + key, *value, "a number of 0 or more");
  }
  // Lists of two numbers: the readings at the start and at the end.
  void pairs(Range range, std::initializer_list<const char*> keys) const {
    for (const char* key : keys) {
      const json* value = find(key);
      if (!value) continue;
      const std::string expected = "two numbers " + words(range);
      if (!value->is_array() || value->size() != 2) refuse(prefix_ + key, *value, expected);
      for (const json& one : *value)
        if (!is_number(one, range)) refuse(prefix_ + key, one, expected);
    }
  }
  // Returns nullopt if the key is missing.
  std::optional<Facts> object(const char* key) const {
    const json* value = find(key);
    if (!value) return std::nullopt;
    if (!value->is_object()) refuse(prefix_ + key, *value, "an object");
    return Facts(*value, prefix_ + key + ".");
  }
  // Returns an empty list if the key is missing.
  const json& list(const char* key, const char* of) const {
    static const json empty = json::array();
    const json* value = find(key);
    if (!value) return empty;
    if (!value->is_array()) refuse(prefix_ + key, *value, of);
    return *value;
  }
  std::string name(const char* key) const { return prefix_ + key; }

 private:
  static bool is_number(const json& value, Range range) {
    return value.is_number() && value.get<double>() >= static_cast<double>(range.least) &&
           value.get<double>() <= static_cast<double>(range.most);
  }

  const json& object_;
  std::string prefix_;
};

void check_steps(const Facts& result, bool needed) {
  const std::optional<Facts> steps = result.object("step_ns");
  if (!steps && needed)
    throw WrongFact{"'step_ns' is missing", "the duration of each step, because the rank was not traced"};
  if (!steps) return;
  const std::string expected = "a list of whole numbers " + words(times_ns);
  std::int64_t sum_ns = 0;
  for (const char* kind : {"warmup", "measured", "unwrapped"}) {
    if (!steps->find(kind)) throw WrongFact{fmt::format("'{}' is missing", steps->name(kind)), expected};
    for (const json& step : steps->list(kind, expected.c_str())) {
      if (!is_whole(step, times_ns)) refuse(steps->name(kind), step, expected);
      sum_ns += step.get<std::int64_t>();
      if (sum_ns > longest_run_ns)
        throw WrongFact{"'step_ns' adds up to more than a century", fmt::format("at most {} ns", longest_run_ns)};
    }
  }
}

void check_samples(const Facts& result) {
  constexpr Range ranges[] = {bytes_or_counts, events, times_ns, summed_ns};
  constexpr const char* expected = "lists of bytes, iteration, ns and optionally processor ns";
  for (const json& sample : result.list("samples", expected)) {
    if (!sample.is_array() || sample.size() < 3 || sample.size() > 4) refuse("samples", sample, expected);
    for (std::size_t i = 0; i < sample.size(); ++i)
      if (!is_whole(sample[i], ranges[i])) refuse("samples", sample[i], std::string("whole numbers: ") + expected);
  }
}

void check_conditions(const Facts& result) {
  const json* found = result.find("conditions");
  if (!found || found->is_null()) return;
  const Facts conditions = *result.object("conditions");
  conditions.whole(times_ns, {"window_ns"});
  conditions.whole(summed_ns, {"cpu_ns"});
  conditions.whole(events, {"voluntary_switches", "involuntary_switches", "major_faults"});
  const std::optional<Facts> host = conditions.object("host");
  if (!host) return;
  host->whole(processors, {"cpus"});
  host->pairs(times_ns, {"frequency_hz", "load", "thermal_throttles", "quota_throttled_ns"});
  if (const std::optional<Facts> spent = host->object("spent_ns"))
    spent->numbers(ticks_ns, {"user", "system", "interrupt", "idle", "steal"});
}

void check(const Facts& result, bool trained) {
  result.texts(
      {"program_version", "torch_version", "cuda_version", "host", "pool", "device", "backend", "parameter_hash"});
  result.booleans({"traced"});
  result.whole(bytes_or_counts,
               {"parameter_count", "parameter_bytes", "data_samples", "samples_per_step", "peak_rss_bytes"});
  result.whole(processors, {"threads", "cores", "host_cores", "pool_cores"});
  result.whole(processes, {"pid"});
  result.whole(times_ns, {"wall_ns"});
  const json* traced = result.find("traced");
  check_steps(result, trained && (!traced || !traced->get<bool>()));
  check_samples(result);
  check_conditions(result);
  if (const std::optional<Facts> warmup = result.object("warmup")) {
    warmup->booleans({"settled"});
    warmup->whole(events, {"steps"});
  }
  if (const std::optional<Facts> checkpoint = result.object("checkpoint")) {
    checkpoint->texts({"resumed"});
    checkpoint->whole(events, {"resumed_step", "schedule_step"});
    if (const std::optional<Facts> adascale = checkpoint->object("adascale")) {
      adascale->whole(events, {"steps", "base_batch"});
      adascale->not_negative({"base_steps", "gradient_sqr", "trace_samples"});
    }
  }
  for (const json& warning : result.list("warnings", "a list of objects")) {
    if (!warning.is_object()) refuse("warnings", warning, "objects with code, message and advice");
    Facts(warning, "warnings.").texts({"code", "message", "advice"});
  }
  for (const json& device : result.list("memory", "a list of objects")) {
    if (!device.is_object()) refuse("memory", device, "objects with device, held_bytes and peak_bytes");
    const Facts memory(device, "memory.");
    memory.whole(processors, {"device"});
    memory.whole(bytes_or_counts, {"held_bytes", "peak_bytes"});
  }
}

}  // namespace

std::optional<WrongFact> wrong_fact(const json& result, bool trained) {
  if (!result.is_object()) return WrongFact{"it is " + kind(result), "an object"};
  try {
    check(Facts(result, ""), trained);
    return std::nullopt;
  } catch (const WrongFact& wrong) {
    return wrong;
  }
}

}  // namespace ddpprof::ranks
