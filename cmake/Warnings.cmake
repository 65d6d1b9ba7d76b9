# ddpprof_library(<name> ...) / ddpprof_executable(<name> ...): a target of ours, with our warnings.
function(ddpprof_target_defaults target)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
                         $<$<BOOL:${DDPPROF_WERROR}>:-Werror>)
  # No fused multiply-add: the same input gives the same bytes on every x86-64 machine and at every -O level.
  target_compile_options(${target} PRIVATE -ffp-contract=off)
endfunction()

function(ddpprof_library name)
  add_library(${name} ${ARGN})
  string(REGEX REPLACE "^ddpprof_" "" alias ${name})
  add_library(ddpprof::${alias} ALIAS ${name})
  ddpprof_target_defaults(${name})
endfunction()

function(ddpprof_executable name)
  add_executable(${name} ${ARGN})
  ddpprof_target_defaults(${name})
endfunction()

# ddpprof_test(<name> SOURCES … LIBRARIES … [LABELS …] [TIMEOUT s] [THREADS]): a GoogleTest program, one ctest entry a
# test. THREADS: what it tests has threads of its own, so that the thread sanitizer looks at it, too.
# A path of the build or the source tree is defined for the one file that needs it, never for the target: a compiler
# cache serves the other files in a clone of any name.
function(ddpprof_test name)
  cmake_parse_arguments(arg "THREADS" "TIMEOUT" "SOURCES;LIBRARIES;LABELS" ${ARGN})
  ddpprof_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LIBRARIES} GTest::gtest_main GTest::gmock)
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  if(DDPPROF_TESTS_OF_THREADS)
    if(NOT arg_THREADS)
      set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
      return()
    endif()
    if(NOT TARGET tests_of_threads)
      add_custom_target(tests_of_threads)
    endif()
    add_dependencies(tests_of_threads ${name})
  endif()
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60
                       PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS "${arg_LABELS}")
endfunction()
