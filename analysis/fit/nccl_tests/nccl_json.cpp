#include "analysis/fit/nccl_tests/nccl_json.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "analysis/fit/nccl_tests/nccl_names.hpp"
#include "analysis/fit/nccl_tests/nccl_ranks.hpp"

namespace ddpprof::fit {
namespace {

using nlohmann::json;

// Returns a member as a number; 0 if it is missing or not a number.
double figure(const json& object, const char* name) {
  const auto found = object.is_object() ? object.find(name) : object.end();
  return found != object.end() && found->is_number() ? found->get<double>() : 0.0;
}

std::string text_of(const json& object, const char* name) {
  const auto found = object.is_object() ? object.find(name) : object.end();
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

const json& member(const json& object, const char* name) {
  static const json none;
  const auto found = object.is_object() ? object.find(name) : object.end();
  return found != object.end() ? *found : none;
}

constexpr double longest_us = 1e12, largest_bytes = 1e18;

bool is_time(double time_us) { return time_us >= 1e-3 && time_us <= longest_us; }

void add_row(const json& result, NcclTestsRun& run) {
  const json& out = member(result, "out_of_place");
  const json& in = member(result, "in_place");
  const double bytes = figure(result, "size");
  run.cpu_times = run.cpu_times || out.contains("cpu_time");
  const double time_us = figure(out, run.cpu_times ? "cpu_time" : "time");
  if (!(bytes >= 1.0 && bytes <= largest_bytes) || !is_time(time_us)) return;
  NcclTestsRow row;
  row.type = text_of(result, "type");
  row.operation = text_of(result, "redop");
  row.bytes = std::llround(bytes);
  row.out_of_place_s = time_us * 1e-6;
  const double in_place_us = figure(in, run.cpu_times ? "cpu_time" : "time");
  if (is_time(in_place_us)) row.in_place_s = in_place_us * 1e-6;
  const double algbw = figure(out, "alg_bw"), busbw = figure(out, "bus_bw");
  constexpr double half = 0.5e-6;  // six decimals are printed
  if (algbw >= 1.0 && algbw < 1e12 && busbw < 1e12) {
    row.bus_factor = busbw / algbw;
    row.bus_factor_low = (busbw - half) / (algbw + half);
    row.bus_factor_high = (busbw + half) / (algbw - half);
  }
  run.rows.push_back(row);
}

// Returns number and bus id of a device; empty without a bus id.
std::string gpu_of(const json& device) {
  const std::string bus_id = text_of(device, "device_hex");
  if (bus_id.empty()) return "";
  return std::to_string(std::llround(std::clamp(figure(device, "device"), 0.0, 1e9))) + ' ' + bus_id;
}

// Returns the number of ranks for each entry of the list of devices. nccl-tests lists only the first device of each
// process: the ranks of the list are then multiples of the devices of a process.
std::int64_t devices_per_entry(const std::vector<NcclRank>& ranks, const json& config) {
  const double of_process =
      std::clamp(figure(config, "nthreads"), 1.0, 1e3) * std::clamp(figure(config, "ngpus"), 1.0, 1e3);
  const bool all = ranks.size() > 1 && std::ranges::any_of(ranks, [](const NcclRank& one) { return one.rank == 1; });
  return all ? 1 : std::llround(of_process);
}

}  // namespace

bool looks_like_nccl_json(std::string_view begin) {
  const auto has = [begin](std::string_view part) { return begin.find(part) != std::string_view::npos; };
  const std::size_t first = begin.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && begin[first] == '{' && !has("\"traceEvents\"") && has("\"nccl_version\"") &&
         (has("\"nthreads\"") || has("\"out_of_place\""));
}

NcclTestsRun read_nccl_json(std::string_view text) {
  const json document = json::parse(text, nullptr, false);
  if (document.is_discarded())
    throw NcclTestsError("the JSON file is cut or damaged; give the text output of the same run of nccl-tests");
  const json& results = member(document, "results");
  if (!results.is_array())
    throw NcclTestsError("the JSON file has no member \"results\"; expected the file of nccl-tests' option -J");
  NcclTestsRun run;
  const json& arguments = member(document, "args");
  if (arguments.is_array() && !arguments.empty() && arguments[0].is_string())
    run.collective = collective_of_program(arguments[0].get<std::string>());
  for (const json& result : results) {
    if (&result == &results.front()) run.root = root_of_text(text_of(result, "root"));
    if (run.collective.empty()) run.collective = collective_of_program(text_of(result, "experiment_name"));
    add_row(result, run);
  }
  keep_one_kind(run);
  const json& config = member(document, "config");
  std::vector<NcclRank> ranks;
  const json& devices = member(config, "devices");
  if (devices.is_array())
    for (const json& device : devices)
      ranks.push_back({std::llround(std::clamp(figure(device, "rank"), 0.0, 1e9)),
                       std::llround(std::clamp(figure(device, "group"), 0.0, 1e9)), text_of(device, "hostname"),
                       gpu_of(device)});
  set_nccl_ranks(ranks, devices_per_entry(ranks, config), run);
  set_bus_factors(run);
  if (const double wrong = figure(member(document, "out_of_bounds"), "count"); wrong > 0.0)
    run.warnings.push_back(wrong_values_warning(std::to_string(std::llround(std::min(wrong, 1e12)))));
  return run;
}

}  // namespace ddpprof::fit
