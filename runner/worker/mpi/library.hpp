// Finds and loads the library that is linked with MPI, beside this program.
#pragma once

#include <filesystem>
#include <stdexcept>

#include "runner/worker/mpi/interface.h"

namespace ddpprof::worker::mpi {

// The library is not there, or MPI's own are not: what is missing and which package has it.
class LibraryError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

inline constexpr const char* library_name = "libddpprof-mpi.so";

// Where it would be: beside this program, or in the lib folder beside the program's folder; whichever is there, else
// the first.
std::filesystem::path library_path();
// Whether this program came with it; MPI's own libraries may still be missing.
bool is_installed();
// Once a process; MPI's own plugins need its names, so they are global. Throws LibraryError.
const ddpprof_mpi_functions& load();

}  // namespace ddpprof::worker::mpi
