#include "analysis/import/kineto/read_job_facts.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "analysis/import/trace/checked.hpp"

namespace ddpprof::import {
namespace {

using nlohmann::json;

constexpr std::int64_t known_format = 1;
constexpr std::int64_t most_threads = 1'000'000;
constexpr std::size_t most_text = 256;

// Returns the whole number, or 0 if it is missing or not in 1 … most.
std::int64_t number(const json& object, const char* key, std::int64_t most) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_integer()) return 0;
  if (found->is_number_unsigned() && found->get<std::uint64_t>() > static_cast<std::uint64_t>(most)) return 0;
  const auto value = found->get<std::int64_t>();
  return value >= 1 && value <= most ? value : 0;
}

std::optional<bool> flag(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_boolean()) return std::nullopt;
  return found->get<bool>();
}

std::string text(const json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() || !found->is_string() ? std::string() : found->get<std::string>().substr(0, most_text);
}

// Returns the number, or 0 if it is missing, not finite or not positive.
double positive(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number()) return 0.0;
  const auto value = found->get<double>();
  return std::isfinite(value) && value > 0.0 ? value : 0.0;
}

// Returns the list's first entries; empty if it is missing.
std::vector<json> list(const json& object, const char* key) {
  constexpr std::size_t most_entries = 64;
  const auto found = object.find(key);
  if (found == object.end() || !found->is_array()) return {};
  const auto end = found->begin() + static_cast<std::ptrdiff_t>(std::min(found->size(), most_entries));
  return std::vector<json>(found->begin(), end);
}

// Returns the number, or nullopt if it is not one from 0 to below 1.
std::optional<double> share(const json& value) {
  if (!value.is_number()) return std::nullopt;
  const auto one = value.get<double>();
  return one >= 0.0 && one < 1.0 ? std::optional(one) : std::nullopt;
}

UntracedSteps untraced_steps(const json& object, const char* key) {
  UntracedSteps steps;
  const auto found = object.find(key);
  if (found == object.end() || !found->is_object()) return steps;
  const auto durations = found->find("durations_ns");
  if (durations == found->end() || !durations->is_array() || durations->size() > static_cast<std::size_t>(most_steps))
    return steps;
  steps.first = number(*found, "first", most_steps);
  steps.begin_ns = number(*found, "begin_ns", latest_ns - 1);
  for (const json& duration : *durations) {
    const std::int64_t ns = number(json{{"ns", duration}}, "ns", longest_ns);
    if (ns == 0) return {};  // the numbers of later steps would be wrong
    steps.durations_ns.push_back(ns);
  }
  return steps.first > 0 && steps.begin_ns > 0 ? steps : UntracedSteps{};
}

std::vector<std::optional<double>> squared_norms(const json& object, const char* key) {
  std::vector<std::optional<double>> norms;
  const auto found = object.find(key);
  if (found == object.end() || !found->is_array()) return norms;
  for (const json& one : *found) {
    const double value = one.is_number() ? one.get<double>() : -1.0;
    norms.push_back(std::isfinite(value) && value >= 0.0 ? std::optional(value) : std::nullopt);
  }
  return norms;
}

NormSteps norm_steps(const json& object) {
  NormSteps norms{untraced_steps(object, "norms"), {}, {}};
  const std::size_t steps = norms.steps.durations_ns.size();
  if (steps == 0) return {};
  norms.local_sqr = squared_norms(object.at("norms"), "local_sqr");
  norms.whole_sqr = squared_norms(object.at("norms"), "whole_sqr");
  return norms.local_sqr.size() == steps && norms.whole_sqr.size() == steps ? norms : NormSteps{};
}

}  // namespace

std::optional<JobFacts> read_job_facts(const json& value) {
  if (!value.is_object() || number(value, "format", known_format) != known_format) return std::nullopt;
  JobFacts facts;
  facts.batch = number(value, "batch", most_samples);
  facts.batch_least = number(value, "batch_least", most_samples);
  facts.batch_most = number(value, "batch_most", most_samples);
  facts.batch_forwards = number(value, "batch_forwards", most_samples);
  facts.batch_others = number(value, "batch_others", most_samples);
  facts.accumulation = number(value, "accumulation", most_samples);
  facts.parameter_count = number(value, "parameter_count", most_bytes);
  facts.parameter_bytes = number(value, "parameter_bytes", most_bytes);
  facts.threads = number(value, "threads", most_threads);
  facts.cores = number(value, "cores", most_threads);
  facts.bucket_cap_bytes = number(value, "bucket_cap_bytes", most_bytes);
  facts.last_step = number(value, "last_step", most_steps);
  facts.find_unused_parameters = flag(value, "find_unused_parameters");
  facts.gradient_as_bucket_view = flag(value, "gradient_as_bucket_view");
  facts.learning_rate = positive(value, "learning_rate");
  facts.learning_rate_of_step = positive(value, "learning_rate_of_step");
  for (const json& rate : list(value, "learning_rates"))
    if (const double one = positive(json{{"rate", rate}}, "rate"); one > 0.0) facts.learning_rates.push_back(one);
  if (const std::vector<json> betas = list(value, "betas"); betas.size() == 2)
    if (const std::optional<double> first = share(betas[0]), second = share(betas[1]); first && second)
      facts.betas = {*first, *second};
  for (const json& name : list(value, "other_optimizers"))
    if (name.is_string()) facts.other_optimizers.push_back(name.get<std::string>().substr(0, most_text));
  facts.sharding = text(value, "sharding");
  facts.optimizer = text(value, "optimizer");
  facts.host = text(value, "host");
  facts.boot_id = text(value, "boot_id");
  facts.network = text(value, "network");
  facts.python = text(value, "python");
  facts.torch = text(value, "torch");
  facts.untraced = untraced_steps(value, "untraced");
  facts.norms = norm_steps(value);
  return facts;
}

}  // namespace ddpprof::import
