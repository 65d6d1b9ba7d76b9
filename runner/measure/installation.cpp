#include "runner/measure/installation.hpp"

#include <cstdlib>
#include <string>
#include <system_error>
#include <vector>

#include "runner/measure/error.hpp"
#include "runner/measure/wheel.hpp"

namespace ddpprof::measure {
namespace {

namespace fs = std::filesystem;

// Returns what to do if a program or a library of ddpprof is missing.
std::string remedy([[maybe_unused]] const std::string& name, [[maybe_unused]] const std::string& option,
                   const std::string& variable) {
#ifdef DDPPROF_WHEEL
  if (name == "ddpprof-gui") return "install the window (pip install ddpprof-gui), or use ddpprof report";
  return "install the wheel again, or name it in " + variable;
#else
  return "build it (cmake option " + option + "=ON) or name it in " + variable;
#endif
}

// Returns the path that an environment variable names; nullptr if the variable is not set or empty.
const char* named_path(const char* variable) {
  const char* path = std::getenv(variable);
  return path != nullptr && *path != '\0' ? path : nullptr;
}

fs::path find_part(const char* variable, const std::string& name, const std::vector<fs::path>& folders,
                   const char* option = "DDPPROF_WORKER") {
  if (const char* named = named_path(variable); named != nullptr) {
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
  throw MissingProgram(name + " not found", looked, remedy(name, option, variable));
}

fs::path own_folder() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error).parent_path();
}

}  // namespace

fs::path find_worker() {
#ifdef DDPPROF_WHEEL
  if (named_path("DDPPROF_WORKER_PROGRAM") == nullptr) return worker_of_wheel(worker_folders_of_wheel(own_folder()));
#endif
  return find_part("DDPPROF_WORKER_PROGRAM", "ddpprof-worker", {own_folder()});
}

fs::path find_gui() { return find_part("DDPPROF_GUI_PROGRAM", "ddpprof-gui", {own_folder()}, "DDPPROF_GUI"); }

fs::path find_tracer() {
  const fs::path folder = own_folder();
  return find_part("DDPPROF_TRACER_LIBRARY", "libddpprof-tracer.so",
                   {folder / ".." / "lib", folder / DDPPROF_INSTALL_LIBDIR});
}

fs::path find_python_module() {
  const fs::path folder = own_folder();
  return find_part("DDPPROF_PYTHON_MODULE", "ddpprof-python", {folder / ".." / "lib", folder / DDPPROF_INSTALL_LIBDIR});
}

fs::path find_comm_script() { return find_python_module() / "bench" / "comm.py"; }

Installation find_installation() {
  Installation found;
  found.worker = find_worker();
  found.tracer = find_tracer();
  return found;
}

}  // namespace ddpprof::measure
