# Lists the suites of a GoogleTest program and writes one ctest entry per suite. Run with -P after the program is linked.
#   PROGRAM, NAME   the program, and the prefix of the entries' names: NAME.SUITE
#   FILE            the ctest file to write
#   RESULTS         the folder for the results: RESULTS/NAME.SUITE.xml ("/" in a name becomes "_")
#   TIMEOUT, LABELS, ENVIRONMENT
#                   properties of every entry
#   LONG            GoogleTest filters, separated by ":": these tests are not in the entry of their suite, but in the entry
#                   NAME.long, which has the label long
execute_process(COMMAND ${PROGRAM} --gtest_list_tests OUTPUT_VARIABLE listing RESULT_VARIABLE status TIMEOUT 60)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} --gtest_list_tests failed: ${status}")
endif()
string(REGEX REPLACE "[ \t]*#[^\n]*" "" listing "${listing}")
string(REGEX MATCHALL "(^|\n)[A-Za-z0-9_/]+\\.\n" suites "${listing}")
set(text "")
function(add_entry name filter labels)
  string(REPLACE "/" "_" file_name "${name}")
  string(APPEND text
    "add_test([==[${NAME}.${name}]==] [==[${PROGRAM}]==] [==[--gtest_filter=${filter}]==] "
    "[==[--gtest_output=xml:${RESULTS}/${NAME}.${file_name}.xml]==])\n"
    "set_tests_properties([==[${NAME}.${name}]==] PROPERTIES TIMEOUT ${TIMEOUT} LABELS [==[${labels}]==]")
  if(ENVIRONMENT)
    string(APPEND text " ENVIRONMENT [==[${ENVIRONMENT}]==]")
  endif()
  set(text "${text})\n" PARENT_SCOPE)
endfunction()
set(others "")
if(LONG)
  set(others "-${LONG}")
endif()
foreach(suite IN LISTS suites)
  string(REGEX REPLACE "[\n.]" "" suite "${suite}")
  add_entry("${suite}" "${suite}.*${others}" "${LABELS}")
endforeach()
if(LONG)
  add_entry(long "${LONG}" "${LABELS};long")
endif()
if(text STREQUAL "")
  message(FATAL_ERROR "${PROGRAM} --gtest_list_tests lists no suite")
endif()
file(WRITE ${FILE} "${text}")
