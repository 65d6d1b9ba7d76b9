// The CUDA libraries that a worker would load: which files, and of which versions.
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <string>

#include "runner/host/host.hpp"

namespace ddpprof::doctor {

struct Library {
  std::filesystem::path path;
  host::Reading<std::int64_t> number = host::Reading<std::int64_t>::unknown("not looked for");  // as it says itself
};

struct Libraries {
  std::string problem;                                  // why it is not known what a worker loads; "" when it is
  std::map<std::string, std::filesystem::path> loaded;  // by file name, of LibTorch's worker
  Library cupti, nccl, cuda_runtime;                    // path empty: the worker loads none
};

// "libnccl.so.2 => /usr/lib/libnccl.so.2 (0x…)" by line, as the dynamic loader lists what a program loads.
std::map<std::string, std::filesystem::path> parse_loaded(const std::string& listing);

// Asks the dynamic loader, which lists them without running the program, then the libraries for their versions.
Libraries look_at_libraries(const std::filesystem::path& worker, std::chrono::milliseconds limit);

// ncclGetVersion's number in words: 22304 is 2.23.4, 2708 is 2.7.8 (nccl.h).
std::string nccl_version(std::int64_t number);
inline constexpr std::int64_t first_nccl_with_profilers = 22300;  // the profiler plugin's interface

}  // namespace ddpprof::doctor
