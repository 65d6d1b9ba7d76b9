# ddpprof_library(<name> ...) / ddpprof_executable(<name> ...): a target of ours, with our warnings.
function(ddpprof_target_defaults target)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
                         $<$<BOOL:${DDPPROF_WERROR}>:-Werror>
                         # In a unity build these two warnings also compare names of different files.
                         $<$<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>:-Wno-shadow>
                         $<$<AND:$<CXX_COMPILER_ID:GNU>,$<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>>:-Wno-subobject-linkage>)
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

# ddpprof_skip_unselected(<target> <needs_worker> <result>): excludes the target from the build and sets <result> to TRUE
# if DDPPROF_TEST_SELECTION is WORKER and the target's tests neither need the worker nor measure times.
function(ddpprof_skip_unselected target needs_worker result)
  set(${result} FALSE PARENT_SCOPE)
  if(DDPPROF_TEST_SELECTION STREQUAL WORKER AND NOT needs_worker)
    set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL ON)
    set(${result} TRUE PARENT_SCOPE)
  endif()
endfunction()

# ddpprof_discover(<target> <timeout> <labels> [LONG <filter>…] [ENVIRONMENT <variables>]): makes the ctest entries of a
# GoogleTest program. One entry per test by default. With DDPPROF_TESTS_BY_SUITE one entry per suite, which saves
# thousands of process starts, and one entry with the label long, for the tests that LONG's filters select.
function(ddpprof_discover target timeout labels)
  cmake_parse_arguments(PARSE_ARGV 3 arg "" "ENVIRONMENT" "LONG")
  if(NOT DDPPROF_TESTS_BY_SUITE)
    set(properties TIMEOUT ${timeout} LABELS "${labels}")
    if(arg_ENVIRONMENT)
      list(APPEND properties ENVIRONMENT "${arg_ENVIRONMENT}")
    endif()
    gtest_discover_tests(${target} DISCOVERY_TIMEOUT 60 PROPERTIES ${properties})
    return()
  endif()
  if(timeout LESS 900)
    set(timeout 900)
  endif()
  string(REPLACE ";" ":" long "${arg_LONG}")
  set(file ${CMAKE_CURRENT_BINARY_DIR}/${target}_suites.cmake)
  add_custom_command(TARGET ${target} POST_BUILD BYPRODUCTS ${file}
    COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:${target}> -DNAME=${target} -DFILE=${file}
            -DRESULTS=${PROJECT_BINARY_DIR}/gtest -DTIMEOUT=${timeout} "-DLABELS=${labels}" "-DLONG=${long}"
            "-DENVIRONMENT=${arg_ENVIRONMENT}"
            -P ${PROJECT_SOURCE_DIR}/cmake/DiscoverSuites.cmake VERBATIM)
  file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/${target}_include.cmake
       "if(EXISTS \"${file}\")\n  include(\"${file}\")\nelse()\n  add_test(${target}_NOT_BUILT ${target}_NOT_BUILT)\nendif()\n")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${CMAKE_CURRENT_BINARY_DIR}/${target}_include.cmake)
endfunction()

# ddpprof_test(<name> SOURCES … LIBRARIES … [LABELS …] [TIMEOUT s] [LONG …] [THREADS] [WORKER] [ISOLATED]): a GoogleTest
# program. THREADS: the tested code has threads of its own, so the thread sanitizer's build has this test too.
# WORKER: the tests need the training worker or measure times, so scripts/test runs them in the build without sanitizers.
# LONG: GoogleTest filters (Suite.Test) of the tests that only scripts/test --all runs. With WORKER they are left out of
# the sanitizers' build alone.
# ISOLATED: every test needs a process of its own, since it changes signals, descriptors or state of the process.
# A path of the build or the source tree is defined for the one file that needs it, never for the target: a compiler
# cache serves the other files in a clone of any name.
function(ddpprof_test name)
  cmake_parse_arguments(arg "THREADS;WORKER;ISOLATED" "TIMEOUT" "SOURCES;LIBRARIES;LABELS;LONG" ${ARGN})
  ddpprof_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LIBRARIES} GTest::gtest_main GTest::gmock)
  if(TARGET ddpprof_tests_precompiled)
    target_precompile_headers(${name} REUSE_FROM ddpprof_tests_precompiled)
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  ddpprof_skip_unselected(${name} "${arg_WORKER}" skipped)
  if(skipped)
    return()
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
  if(arg_ISOLATED)
    set(DDPPROF_TESTS_BY_SUITE OFF)
  endif()
  if(arg_WORKER AND NOT DDPPROF_SANITIZE)
    set(arg_LONG "")
  endif()
  ddpprof_discover(${name} ${arg_TIMEOUT} "${arg_LABELS}" LONG ${arg_LONG})
endfunction()
