# SPDX-License-Identifier: MIT OR Apache-2.0
# Writes the files of a page as a source file of the program:
#   cmake -DOUTPUT=FILE "-DFILES=a.html;b.js" -P EmbedPage.cmake
set(arrays "")
set(table "")
set(number 0)
foreach(path ${FILES})
  get_filename_component(name "${path}" NAME)
  get_filename_component(extension "${path}" LAST_EXT)
  if(extension STREQUAL ".html")
    set(type "text/html; charset=utf-8")
  elseif(extension STREQUAL ".css")
    set(type "text/css; charset=utf-8")
  elseif(extension STREQUAL ".js")
    set(type "text/javascript; charset=utf-8")
  elseif(extension STREQUAL ".svg")
    set(type "image/svg+xml")
  else()
    message(FATAL_ERROR "no content type is known for ${path}")
  endif()
  file(READ "${path}" bytes HEX)
  string(LENGTH "${bytes}" digits)
  math(EXPR length "${digits} / 2")
  string(REGEX REPLACE "(................................)" "\\1\n" bytes "${bytes}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${bytes}")
  string(APPEND arrays "constexpr char k_file_${number}[] = {\n${bytes}};\n")
  string(APPEND table "    {\"${name}\", \"${type}\", {k_file_${number}, ${length}}},\n")
  math(EXPR number "${number} + 1")
endforeach()
file(WRITE "${OUTPUT}" "// Made by cmake/EmbedPage.cmake.
#include \"serve/explorer_page.hpp\"

namespace varve::serve {

namespace {

${arrays}
constexpr PageFile k_files[] = {
${table}};

}  // namespace

std::span<const PageFile> page_files() { return k_files; }

}  // namespace varve::serve
")
