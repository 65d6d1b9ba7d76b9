#include "analysis/import/nsight/nsight_tables.hpp"

#include <array>
#include <initializer_list>
#include <optional>
#include <vector>

#include "analysis/import/trace/checked.hpp"

namespace ddpprof::import {
namespace {

// Calls `row` with each row of a small table. Does nothing if the table is missing.
template <class Function>
void each(NsightFile& file, std::string_view table, std::initializer_list<std::string_view> columns, Function&& row) {
  if (!file.has(table)) return;
  const std::vector<std::string_view> list(columns);
  Scan scan(file, table, list);
  while (scan.next()) row(scan);
}

// Parses "NAME=value;NAME=value", and keeps only the variables that give the rank of a process.
void read_environment(std::string_view text, std::map<std::string, std::string, std::less<>>& environment) {
  static constexpr std::array<std::string_view, 6> names{
      "RANK", "WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "SLURM_PROCID", "SLURM_NTASKS"};
  while (!text.empty()) {
    const std::size_t end = text.find(';');
    const std::string_view entry = text.substr(0, end);
    for (const std::string_view name : names)
      if (entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=')
        environment[std::string(name)] = std::string(entry.substr(name.size() + 1));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
}

void read_types(NsightFile& file, EventTypes& types) {
  const std::map<std::string_view, std::int64_t*> known{
      {"NvtxMark", &types.mark},
      {"NvtxPushPopRange", &types.push_pop},
      {"NvtxStartEndRange", &types.start_end},
      {"NvtxDomainCreate", &types.domain},
      {"NvtxtMark", &types.text_mark},
      {"NvtxtPushPopRange", &types.text_push_pop},
      {"NvtxtStartEndRange", &types.text_start_end},
  };
  each(file, "ENUM_NSYS_EVENT_TYPE", {"id", "name"}, [&](const Scan& scan) {
    if (const auto found = known.find(scan.text(1)); found != known.end() && scan.integer(0))
      *found->second = *scan.integer(0);
  });
}

}  // namespace

std::string SessionFacts::device_name(std::int64_t pid, std::int64_t device) const {
  for (const std::int64_t owner : {pid, std::int64_t{-1}})
    if (const auto found = devices.find({owner, device}); found != devices.end()) return found->second;
  return {};
}

SessionFacts read_session(NsightFile& file) {
  SessionFacts facts;
  bool normalised = false;
  each(file, "META_DATA_EXPORT", {"name", "value"}, [&](const Scan& scan) {
    const std::string_view name = scan.text(0);
    if (name == "EXPORT_PRODUCT_VERSION") facts.versions["nsight_systems"] = std::string(scan.text(1));
    if (name == "EXPORT_SCHEMA_VERSION") facts.versions["nsight_schema"] = std::string(scan.text(1));
    if (name == "EXPORT_PARAM_TIME_NORMALIZE") normalised = scan.text(1) == "true";
  });
  each(file, "TARGET_INFO_SYSTEM_ENV", {"name", "value"}, [&](const Scan& scan) {
    const std::string_view name = scan.text(0);
    if (name == "Hostname") facts.host = std::string(scan.text(1));
    if (name == "CudaDriverVersion") facts.versions["cuda_driver_version"] = std::string(scan.text(1));
    if (name == "NvDriverVersion") facts.versions["driver"] = std::string(scan.text(1));
    if (name == "DeviceEnvironment") read_environment(scan.text(1), facts.environment);
  });
  std::optional<std::int64_t> epoch_ns;
  std::int64_t begin_ns = 0;
  each(file, "TARGET_INFO_SESSION_START_TIME", {"utcEpochNs"}, [&](const Scan& scan) {
    if (!epoch_ns) epoch_ns = scan.integer(0);
  });
  // The begin of the session on the clock of the events.
  bool first = true;
  each(file, "ANALYSIS_DETAILS", {"startTime"}, [&](const Scan& scan) {
    if (first) begin_ns = scan.integer(0).value_or(0);
    first = false;
  });
  if (epoch_ns && !normalised && sound_time(*epoch_ns, *epoch_ns) && sound_time(begin_ns, begin_ns) &&
      *epoch_ns >= begin_ns)
    facts.base_ns = *epoch_ns - begin_ns;
  each(file, "PROCESSES", {"globalPid", "name"}, [&](const Scan& scan) {
    if (const auto id = scan.integer(0)) facts.processes[process_of(*id)] = std::string(scan.text(1));
  });
  std::map<std::int64_t, std::string> names;
  each(file, "TARGET_INFO_GPU", {"id", "name"}, [&](const Scan& scan) {
    if (const auto id = scan.integer(0)) names[*id] = std::string(scan.text(1));
  });
  for (const auto& [id, name] : names) facts.devices[{-1, id}] = name;
  // A process may see only some of the devices. It numbers these from 0.
  each(file, "TARGET_INFO_CUDA_DEVICE", {"gpuId", "cudaId", "pid"}, [&](const Scan& scan) {
    const auto gpu = scan.integer(0), number = scan.integer(1);
    if (gpu && number && names.contains(*gpu)) facts.devices[{scan.integer(2).value_or(-1), *number}] = names[*gpu];
  });
  read_types(file, facts.types);
  return facts;
}

}  // namespace ddpprof::import
