option(DDPPROF_TESTS "Build the tests" ON)
option(DDPPROF_TESTS_OF_THREADS "Build only the tests of code that has threads (target tests_of_threads)" OFF)
set(DDPPROF_TEST_SELECTION ALL CACHE STRING
    "ALL tests, or WORKER: only those that need the training worker or measure times (docs/internals/testing.md)")
set_property(CACHE DDPPROF_TEST_SELECTION PROPERTY STRINGS ALL WORKER)
option(DDPPROF_TESTS_BY_SUITE "One ctest entry per GoogleTest suite instead of one per test" OFF)
option(DDPPROF_TESTS_PRECOMPILED "Compile the tests with one precompiled header (standard library, GoogleTest)" OFF)
option(DDPPROF_BENCHMARKS "Build the benchmarks" ON)
option(DDPPROF_WORKER "Build the training worker (needs LibTorch)" ON)
option(DDPPROF_GUI "Build the desktop program (needs Qt 6 and QCustomPlot)" ON)
# Only for the compilers of scripts/test: a new warning of a newer compiler must not stop the build of a user.
set(ddpprof_werror OFF)
if((CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
   OR (CMAKE_CXX_COMPILER_ID STREQUAL Clang AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 17))
  set(ddpprof_werror ON)
endif()
option(DDPPROF_WERROR "Treat warnings in our own code as errors" ${ddpprof_werror})
set(DDPPROF_CUDA AUTO CACHE STRING "CUDA, NCCL and CUPTI code: AUTO (when the headers are found), ON, OFF")
set_property(CACHE DDPPROF_CUDA PROPERTY STRINGS AUTO ON OFF)
set(DDPPROF_MPI AUTO CACHE STRING "The worker's backend mpi: AUTO (when MPI is found), ON, OFF")
set_property(CACHE DDPPROF_MPI PROPERTY STRINGS AUTO ON OFF)
set(DDPPROF_WHEEL_LIBRARIES "" CACHE PATH "Folder of static libraries for a wheel (scripts/wheel makes it): the programs link no others")
set(DDPPROF_SANITIZE "" CACHE STRING "Sanitizers for our own code, e.g. address,undefined or thread")
set(DDPPROF_SANITIZE_EXCEPT "" CACHE STRING "Checks of these sanitizers that are left out, e.g. null,alignment")

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Build type" FORCE)
endif()

if(DDPPROF_SANITIZE)
  add_compile_options(-fsanitize=${DDPPROF_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${DDPPROF_SANITIZE})
  # GCC's instrumentation hides that an empty std::optional is not read, and the warning is then wrong.
  add_compile_options($<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  # The tracer is a shared library that programs without a sanitizer load, too. So it links the runtime, as with g++.
  if(CMAKE_CXX_COMPILER_ID STREQUAL Clang AND DDPPROF_SANITIZE MATCHES "address" AND NOT DDPPROF_SANITIZE MATCHES "fuzzer")
    execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=libclang_rt.asan-x86_64.so
                    OUTPUT_VARIABLE runtime OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
    cmake_path(GET runtime PARENT_PATH runtime)
    add_link_options(-shared-libsan -Wl,-rpath,${runtime})
  endif()
  if(DDPPROF_SANITIZE_EXCEPT)
    add_compile_options(-fno-sanitize=${DDPPROF_SANITIZE_EXCEPT})
  endif()
endif()

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Paths inside of this clone are hashed as relative ones, so that a second clone finds what the first compiled; and
  # so for what is compiled with the precompiled header, which ccache otherwise never keeps.
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
      CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE_PROGRAM})
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    add_compile_options(-fpch-preprocess)
  endif()
endif()
