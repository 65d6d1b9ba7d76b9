#include "runner/worker/mpi/library.hpp"

#include <dlfcn.h>

#include <string>
#include <system_error>

namespace ddpprof::worker::mpi {
namespace {

const ddpprof_mpi_functions& load_now() {
  const std::filesystem::path path = library_path();
  if (!is_installed())
    throw LibraryError("backend mpi: " + path.string() +
                       " is not there: this ddpprof was built without MPI; build it where Open MPI's headers are "
                       "(Debian: libopenmpi-dev), or use backend: gloo");
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr)
    throw LibraryError(std::string("backend mpi: ") + dlerror() +
                       "; install Open MPI (Debian: openmpi-bin and libopenmpi3), or use backend: gloo");
  const auto function = reinterpret_cast<ddpprof_mpi_function>(dlsym(library, "ddpprof_mpi"));
  if (function == nullptr || function()->interface_number != ddpprof_mpi_interface)
    throw LibraryError("backend mpi: " + path.string() + " belongs to another version of ddpprof; install both anew");
  return *function();
}

}  // namespace

std::filesystem::path library_path() {
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  const std::filesystem::path beside = folder / library_name, lib = folder.parent_path() / "lib" / library_name;
  return !std::filesystem::exists(beside, error) && std::filesystem::exists(lib, error) ? lib : beside;
}

bool is_installed() {
  std::error_code error;
  return std::filesystem::exists(library_path(), error);
}

const ddpprof_mpi_functions& load() {
  static const ddpprof_mpi_functions& functions = load_now();
  return functions;
}

}  // namespace ddpprof::worker::mpi
