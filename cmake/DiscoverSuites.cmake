# Lists the suites of a GoogleTest program and writes one ctest entry per suite. Run with -P after the program is linked.
#   PROGRAM, NAME   the program, and the prefix of the entries' names: NAME.SUITE
#   FILE            the ctest file to write
#   RESULTS         the folder for the results: RESULTS/NAME.SUITE.xml ("/" in a name becomes "_")
#   TIMEOUT, LABELS properties of every entry
execute_process(COMMAND ${PROGRAM} --gtest_list_tests OUTPUT_VARIABLE listing RESULT_VARIABLE status TIMEOUT 60)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} --gtest_list_tests failed: ${status}")
endif()
string(REGEX REPLACE "[ \t]*#[^\n]*" "" listing "${listing}")
string(REGEX MATCHALL "(^|\n)[A-Za-z0-9_/]+\\.\n" suites "${listing}")
set(text "")
foreach(suite IN LISTS suites)
  string(REGEX REPLACE "[\n.]" "" suite "${suite}")
  string(REPLACE "/" "_" file_name "${suite}")
  string(APPEND text
    "add_test([==[${NAME}.${suite}]==] [==[${PROGRAM}]==] [==[--gtest_filter=${suite}.*]==] "
    "[==[--gtest_output=xml:${RESULTS}/${NAME}.${file_name}.xml]==])\n"
    "set_tests_properties([==[${NAME}.${suite}]==] PROPERTIES TIMEOUT ${TIMEOUT} LABELS [==[${LABELS}]==])\n")
endforeach()
if(text STREQUAL "")
  message(FATAL_ERROR "${PROGRAM} --gtest_list_tests lists no suite")
endif()
file(WRITE ${FILE} "${text}")
