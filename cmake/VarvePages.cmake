# SPDX-License-Identifier: MIT OR Apache-2.0
# The man pages and completion scripts, which the program prints itself, into a directory.
#   cmake -D TOOL=varve -D OUT=DIRECTORY -P VarvePages.cmake
file(REMOVE_RECURSE "${OUT}")
file(MAKE_DIRECTORY "${OUT}/man1" "${OUT}/completions")

# What the program prints, to a file.
function(varve_print file)
  execute_process(COMMAND "${TOOL}" ${ARGN} OUTPUT_FILE "${OUT}/${file}" COMMAND_ERROR_IS_FATAL ANY)
endfunction()

varve_print(man1/varve.1 man)
# The program's own page names those of its verbs.
file(READ "${OUT}/man1/varve.1" page)
string(REGEX MATCHALL "\n\\.BR varve\\\\-[a-z]+ \\(1\\)" names "${page}")
foreach(name ${names})
  string(REGEX REPLACE ".*varve\\\\-([a-z]+) .*" "\\1" verb "${name}")
  varve_print(man1/varve-${verb}.1 man ${verb})
endforeach()
find_program(gzip gzip)
if(gzip)
  file(GLOB pages "${OUT}/man1/*.1")
  execute_process(COMMAND "${gzip}" -9n ${pages} COMMAND_ERROR_IS_FATAL ANY)
endif()
varve_print(completions/varve completions bash)
varve_print(completions/_varve completions zsh)
varve_print(completions/varve.fish completions fish)
