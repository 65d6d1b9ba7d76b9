#include "runner/measure/installation.hpp"

#include <cstdlib>
#include <string>
#include <system_error>
#include <vector>

#include "runner/measure/error.hpp"

namespace ddpprof::measure {
namespace {

namespace fs = std::filesystem;

fs::path find(const char* variable, const std::string& name, const std::vector<fs::path>& folders,
              const char* option = "DDPPROF_WORKER") {
  if (const char* named = std::getenv(variable); named != nullptr && *named != '\0') {
    std::error_code error;
    if (fs::exists(named, error)) return named;
    throw MissingProgram(std::string(variable) + " names '" + named + "', which " +
                             (error ? "cannot be accessed: " + error.message() : std::string("does not exist")),
                         "the path of " + name, "correct the variable, or unset it to use the one beside ddpprof");
  }
  std::string looked;
  for (const fs::path& folder : folders) {
    std::error_code error;
    fs::path candidate = fs::weakly_canonical(folder / name, error);
    if (!error && fs::exists(candidate, error)) return candidate;
    looked += (looked.empty() ? "" : ", ") + candidate.string();
  }
  throw MissingProgram(name + " not found", looked,
                       "build it (cmake option " + std::string(option) + "=ON) or name it in " + std::string(variable));
}

fs::path own_folder() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error).parent_path();
}

}  // namespace

fs::path find_worker() { return find("DDPPROF_WORKER_PROGRAM", "ddpprof-worker", {own_folder()}); }

fs::path find_gui() { return find("DDPPROF_GUI_PROGRAM", "ddpprof-gui", {own_folder()}, "DDPPROF_GUI"); }

fs::path find_tracer() {
  const fs::path folder = own_folder();
  return find("DDPPROF_TRACER_LIBRARY", "libddpprof-tracer.so",
              {folder / ".." / "lib", folder / DDPPROF_INSTALL_LIBDIR});
}

fs::path find_python_module() {
  const fs::path folder = own_folder();
  return find("DDPPROF_PYTHON_MODULE", "ddpprof-python", {folder / ".." / "lib", folder / DDPPROF_INSTALL_LIBDIR});
}

Installation find_installation() {
  Installation found;
  found.worker = find_worker();
  found.tracer = find_tracer();
  return found;
}

}  // namespace ddpprof::measure
