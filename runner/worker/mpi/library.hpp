// Finds and loads the library that is linked with MPI, beside this program.
#pragma once

#include <filesystem>
#include <stdexcept>

#include "runner/worker/mpi/interface.h"

namespace ddpprof::worker::mpi {

// The library or MPI's own libraries are missing. The message names what is missing and the package that has it.
class LibraryError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

inline constexpr const char* library_name = "libddpprof-mpi.so";

// Returns the path beside this program, or in the lib folder beside the program's folder, if the library is there.
// Returns the first path if there is no library.
std::filesystem::path library_path();
// Returns true if the library is installed. MPI's own libraries may still be missing.
bool is_installed();
// Loads the library once per process. Its symbols are global, since MPI's plugins need them. Throws LibraryError.
const ddpprof_mpi_functions& load();

}  // namespace ddpprof::worker::mpi
