# MPI for the backend mpi: ddpprof::mpi, DDPPROF_WITH_MPI.
set(DDPPROF_WITH_MPI OFF)
if(DDPPROF_WORKER AND NOT DDPPROF_MPI STREQUAL OFF)
  # Without MPI's C++ bindings, which were removed from MPI.
  set(MPI_CXX_SKIP_MPICXX ON)
  find_package(MPI QUIET COMPONENTS CXX)
  if(MPI_CXX_FOUND)
    set(DDPPROF_WITH_MPI ON)
  elseif(DDPPROF_MPI STREQUAL ON)
    message(FATAL_ERROR "DDPPROF_MPI=ON, but MPI was not found. Expected: Open MPI's headers (Debian: libopenmpi-dev). "
                        "Install them, or configure with DDPPROF_MPI=OFF.")
  endif()
  message(STATUS "Backend mpi: ${DDPPROF_WITH_MPI}")
endif()
