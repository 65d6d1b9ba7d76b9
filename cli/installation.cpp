#include "cli/installation.hpp"

#include <cstdlib>
#include <string>
#include <system_error>
#include <vector>

#include "cli/subcommand.hpp"

namespace ddpprof::cli {
namespace {

namespace fs = std::filesystem;

fs::path find(const char* variable, const std::string& name, const std::vector<fs::path>& folders) {
  if (const char* named = std::getenv(variable); named != nullptr && *named != '\0') {
    if (fs::exists(named)) return named;
    throw Failure(ExitCode::machine, std::string(variable) + " names '" + named + "', which does not exist");
  }
  std::string looked;
  for (const fs::path& folder : folders) {
    std::error_code error;
    fs::path candidate = fs::weakly_canonical(folder / name, error);
    if (!error && fs::exists(candidate)) return candidate;
    looked += (looked.empty() ? "" : ", ") + candidate.string();
  }
  throw Failure(ExitCode::machine, name + " not found", looked,
                "build it (cmake option DDPPROF_WORKER=ON) or name it in " + std::string(variable));
}

}  // namespace

Installation find_installation() {
  std::error_code error;
  const fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  Installation found;
  found.worker = find("DDPPROF_WORKER_PROGRAM", "ddpprof-worker", {folder});
  found.tracer =
      find("DDPPROF_TRACER_LIBRARY", "libddpprof-tracer.so", {folder / ".." / "lib", folder / DDPPROF_INSTALL_LIBDIR});
  return found;
}

}  // namespace ddpprof::cli
