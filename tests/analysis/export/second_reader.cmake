# Writes a database, exports it with the real program, and has second_reader.py compare the two.
set(database ${FOLDER}/second_reader.db)
set(trace ${FOLDER}/second_reader.json)
execute_process(COMMAND ${WRITER} ${database} COMMAND_ERROR_IS_FATAL ANY TIMEOUT 60)
execute_process(COMMAND ${DDPPROF} export ${database} --format chrome --out ${trace} COMMAND_ERROR_IS_FATAL ANY TIMEOUT 60)
execute_process(COMMAND ${PYTHON} -B ${SCRIPT} ${trace} ${database} RESULT_VARIABLE result OUTPUT_VARIABLE said
                ERROR_VARIABLE errors TIMEOUT 100)
if(result EQUAL 77)
  message("${said}")
elseif(NOT result EQUAL 0)
  message(FATAL_ERROR "second_reader.py: ${result}\n${said}\n${errors}")
endif()
