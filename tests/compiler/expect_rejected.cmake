# Passes when the compiler rejects a file, and for the reason that the file names:
#   cmake -DCOMPILER=<path> -DCOMPILER_ID=<GNU or Clang> -DSOURCE=<file> -P expect_rejected.cmake -- <compiler argument>...
# Each line `// expect: <text>` of the file is a text that the compiler's output must contain; one at least. Each line
# that ends with `// rejected here` is one that the output must point to, so that one file can hold several mistakes.
# holdfast_rejects() makes a test of it.
cmake_minimum_required(VERSION 3.25)

set(arguments "")
set(after_dashes FALSE)
math(EXPR last "${CMAKE_ARGC} - 1")
foreach(i RANGE ${last})
  if(after_dashes)
    list(APPEND arguments "${CMAKE_ARGV${i}}")
  elseif(CMAKE_ARGV${i} STREQUAL "--")
    set(after_dashes TRUE)
  endif()
endforeach()

file(STRINGS "${SOURCE}" expectations REGEX "^ *// expect: ")
if(NOT expectations)
  message(FATAL_ERROR "${SOURCE} has no line `// expect: <text>`: any failure to compile would pass")
endif()

# Messages in English and in plain quotes, wherever this runs. And without excerpts of the source: these could show the
# expected text where another error stands.
set(ENV{LC_ALL} C)
if(COMPILER_ID STREQUAL "GNU")
  list(APPEND arguments -fno-diagnostics-show-caret)
else()
  list(APPEND arguments -fno-caret-diagnostics)
endif()
execute_process(COMMAND "${COMPILER}" ${arguments} -fsyntax-only "${SOURCE}"
  RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(status EQUAL 0)
  message(FATAL_ERROR "${SOURCE} compiles, but was expected to be rejected")
endif()

foreach(line IN LISTS expectations)
  string(REGEX REPLACE "^ *// expect: " "" text "${line}")
  string(FIND "${output}" "${text}" position)
  if(position EQUAL -1)
    message(FATAL_ERROR "${SOURCE} is rejected for another reason: the output has no `${text}`.\n${output}")
  endif()
endforeach()

set(marker "// rejected here\n")
string(LENGTH "${marker}" marker_length)
file(READ "${SOURCE}" rest)
set(line 1)
while(TRUE)
  string(FIND "${rest}" "${marker}" position)
  if(position EQUAL -1)
    break()
  endif()
  string(SUBSTRING "${rest}" 0 ${position} before)
  math(EXPR after "${position} + ${marker_length}")
  string(SUBSTRING "${rest}" ${after} -1 rest)
  string(REGEX MATCHALL "\n" newlines "${before}")
  list(LENGTH newlines count)
  math(EXPR line "${line} + ${count}")
  string(FIND "${output}" "${SOURCE}:${line}:" position)
  if(position EQUAL -1)
    message(FATAL_ERROR "line ${line} of ${SOURCE} is not rejected: the output does not point to it.\n${output}")
  endif()
  math(EXPR line "${line} + 1")
endwhile()
