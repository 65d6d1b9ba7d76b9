// The CUDA libraries that the worker loads: files and versions.
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <string>

#include "runner/host/host.hpp"

namespace ddpprof::doctor {

struct Library {
  std::filesystem::path path;
  host::Reading<std::int64_t> number =
      host::Reading<std::int64_t>::unknown("not checked");  // as the library reports it
};

struct Libraries {
  std::string problem;                                  // why the loaded libraries are unknown; "" if they are known
  std::map<std::string, std::filesystem::path> loaded;  // path by file name
  Library cupti, nccl, cuda_runtime;                    // path empty: the worker does not load it
};

// Parses the list of the dynamic loader, lines such as "libnccl.so.2 => /usr/lib/libnccl.so.2 (0x…)".
std::map<std::string, std::filesystem::path> parse_loaded(const std::string& listing);

// Reads the dynamic loader's list, without running the worker, then the versions from the libraries.
Libraries look_at_libraries(const std::filesystem::path& worker, std::chrono::milliseconds limit);

// The number of ncclGetVersion as text: 22304 is 2.23.4, 2708 is 2.7.8 (nccl.h).
std::string nccl_version(std::int64_t number);
inline constexpr std::int64_t first_nccl_with_profilers = 22300;  // has the interface of profiler plugins

}  // namespace ddpprof::doctor
