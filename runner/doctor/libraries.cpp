#include "runner/doctor/libraries.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <sstream>

#include "runner/measure/command.hpp"

namespace ddpprof::doctor {
namespace {

// Returns the version that a function of the library reports.
host::Reading<std::int64_t> ask(const std::filesystem::path& path, const char* function) {
  using Number = host::Reading<std::int64_t>;
  void* library = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) {
    const char* error = dlerror();
    return Number::unknown(error != nullptr ? error : path.string() + " cannot be loaded");
  }
  void* found = dlsym(library, function);
  int number = 0;
  Number answer = Number::unknown(path.string() + " has no function " + function);
  if (found != nullptr) {
    const int result = reinterpret_cast<int (*)(int*)>(found)(&number);
    answer =
        result == 0 ? Number::of(number) : Number::unknown(fmt::format("{} answers with error {}", function, result));
  }
  return answer;  // stays loaded: some libraries crash when they are closed
}

void look_at(Library& library, const Libraries& all, const char* beginning, const char* function) {
  for (const auto& [name, path] : all.loaded) {
    if (!name.starts_with(beginning)) continue;
    library.path = path;
    library.number = ask(path, function);
    return;
  }
}

}  // namespace

std::map<std::string, std::filesystem::path> parse_loaded(const std::string& listing) {
  std::map<std::string, std::filesystem::path> found;
  std::istringstream lines(listing);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t arrow = line.find(" => "), address = line.rfind(" (0x");
    const std::size_t begin = line.find_first_not_of(" \t");
    if (arrow == std::string::npos || begin > arrow) continue;
    const std::size_t path = arrow + 4;
    found[line.substr(begin, arrow - begin)] =
        address == std::string::npos || address < path ? line.substr(path) : line.substr(path, address - path);
  }
  for (auto& [name, path] : found) path = path.lexically_normal();  // paths in LibTorch's wheels contain "../.."
  std::erase_if(found, [](const auto& one) { return !one.second.is_absolute(); });  // "not found"
  return found;
}

Libraries look_at_libraries(const std::filesystem::path& worker, std::chrono::milliseconds limit) {
  Libraries libraries;
  if (worker.empty()) {
    libraries.problem = "ddpprof-worker was not found";
    return libraries;
  }
  const measure::CommandOutcome outcome =
      measure::run_command({"/usr/bin/env", "LD_TRACE_LOADED_OBJECTS=1", worker.string()}, limit);
  if (!outcome.started || outcome.timed_out || outcome.exit_code != 0) {
    libraries.problem = !outcome.started ? outcome.error
                        : outcome.timed_out
                            ? "the dynamic loader did not answer"
                            : fmt::format("the dynamic loader ended with exit code {}", outcome.exit_code);
    return libraries;
  }
  libraries.loaded = parse_loaded(outcome.output);
  look_at(libraries.cupti, libraries, "libcupti.so", "cuptiGetVersion");
  look_at(libraries.nccl, libraries, "libnccl.so", "ncclGetVersion");
  look_at(libraries.cuda_runtime, libraries, "libcudart.so", "cudaRuntimeGetVersion");
  return libraries;
}

std::string nccl_version(std::int64_t number) {
  // Up to 2.8: major, minor and patch in thousands, hundreds and ones; since 2.9 minor takes two digits.
  const std::int64_t major = number >= 10'000 ? number / 10'000 : number / 1000;
  const std::int64_t minor = number >= 10'000 ? number / 100 % 100 : number / 100 % 10;
  return fmt::format("{}.{}.{}", major, minor, number % 100);
}

}  // namespace ddpprof::doctor
