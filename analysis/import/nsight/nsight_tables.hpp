// Reads the facts of an export about the whole session: versions, devices, processes, the clock, the numbers of event
// types.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "analysis/import/nsight/nsight_file.hpp"
#include "analysis/import/nsight/strings.hpp"

namespace ddpprof::import {

// The upper bits of a serialised id are the process on a machine: 8 bits of the machine, 8 of the virtual machine, 24
// of the pid. The lower 24 bits are the thread (Nsight Systems' documentation, "Serialized process and thread
// identifiers").
constexpr std::int64_t process_of(std::int64_t global_id) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(global_id) >> 24);
}
constexpr std::int64_t pid_of(std::int64_t process) { return process & 0xFFFFFF; }
constexpr std::int64_t thread_of(std::int64_t global_id) { return global_id & 0xFFFFFF; }

// The type numbers of NVTX events. ENUM_NSYS_EVENT_TYPE overrides them if the file has it.
struct EventTypes {
  std::int64_t mark = 34, push_pop = 59, start_end = 60, domain = 75;
  std::int64_t text_mark = 65, text_push_pop = 70, text_start_end = 71;  // of NVTX's text files

  bool is_range(std::int64_t type) const {
    return type == push_pop || type == start_end || type == text_push_pop || type == text_start_end;
  }
  bool is_mark(std::int64_t type) const { return type == mark || type == text_mark; }
};

struct SessionFacts {
  std::map<std::string, std::string> versions;  // "nsight_systems", "nsight_schema", "cuda_driver_version"
  std::string host;
  std::int64_t base_ns = 0;  // add to times to get nanoseconds since 1970; 0: times already are, or unknown
  std::map<std::int64_t, std::string> processes;                         // names
  std::map<std::pair<std::int64_t, std::int64_t>, std::string> devices;  // names by pid (-1: any) and number
  std::map<std::string, std::string, std::less<>> environment;           // of the profiler
  EventTypes types;

  std::string device_name(std::int64_t pid, std::int64_t device) const;
};

SessionFacts read_session(NsightFile&);

}  // namespace ddpprof::import
