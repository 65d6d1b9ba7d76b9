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

# ddpprof_test(<name> SOURCES … LIBRARIES … [LABELS …] [TIMEOUT s]): a GoogleTest program, one ctest entry a test.
function(ddpprof_test name)
  cmake_parse_arguments(arg "" "TIMEOUT" "SOURCES;LIBRARIES;LABELS" ${ARGN})
  ddpprof_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LIBRARIES} GTest::gtest_main GTest::gmock)
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60
                       PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS "${arg_LABELS}")
endfunction()
