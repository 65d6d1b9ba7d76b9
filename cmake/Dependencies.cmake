# A wheel's program runs where these libraries are not installed. Static archives are preferred; those that Debian does not
# have come from DDPPROF_WHEEL_LIBRARIES, which scripts/wheel fills.
if(DDPPROF_WHEEL_LIBRARIES)
  set(CMAKE_FIND_LIBRARY_SUFFIXES .a .so)
  list(PREPEND CMAKE_PREFIX_PATH ${DDPPROF_WHEEL_LIBRARIES})
  set(OPENSSL_USE_STATIC_LIBS ON)
endif()

find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(SQLiteCpp REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
find_package(Ceres REQUIRED)
find_path(DDPPROF_CSV_INCLUDE csv.h REQUIRED)  # libcsv has no package file
find_library(DDPPROF_CSV_LIBRARY csv REQUIRED)
add_library(csv::csv UNKNOWN IMPORTED)
set_target_properties(csv::csv PROPERTIES IMPORTED_LOCATION "${DDPPROF_CSV_LIBRARY}"
                                          INTERFACE_INCLUDE_DIRECTORIES "${DDPPROF_CSV_INCLUDE}")
find_package(ZLIB REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(zstd REQUIRED IMPORTED_TARGET libzstd)       # PkgConfig::zstd
if(DDPPROF_WHEEL_LIBRARIES)
  find_library(pkgcfg_lib_simdjson_simdjson libsimdjson.a REQUIRED)
endif()
pkg_check_modules(simdjson REQUIRED IMPORTED_TARGET simdjson)  # PkgConfig::simdjson
if(DDPPROF_WHEEL_LIBRARIES)
  # Debian's package files of these two name the shared library.
  foreach(library fmt::fmt yaml-cpp)
    string(REGEX REPLACE ".*::" "" archive ${library})
    find_library(DDPPROF_ARCHIVE_${archive} lib${archive}.a REQUIRED)
    set_target_properties(${library} PROPERTIES IMPORTED_LOCATION "${DDPPROF_ARCHIVE_${archive}}" IMPORTED_CONFIGURATIONS "")
  endforeach()
endif()
if(DDPPROF_GUI)
  find_package(Qt6 6.4 REQUIRED COMPONENTS Core Gui Widgets Svg PrintSupport)
  if(DDPPROF_TESTS)
    find_package(Qt6 6.4 REQUIRED COMPONENTS Test)
  endif()
  find_package(QCustomPlotQt6 REQUIRED)
endif()
if(DDPPROF_TESTS)
  find_package(GTest REQUIRED)
  include(GoogleTest)
endif()
if(DDPPROF_BENCHMARKS)
  find_package(benchmark REQUIRED)
endif()

include(Torch)  # ddpprof::torch, DDPPROF_TORCH_FOUND, and NVIDIA's headers: ddpprof::nvtx, ddpprof::cuda_headers
include(Mpi)    # DDPPROF_WITH_MPI
