# expect_rejected.cmake passes and fails when it should, for the files in rejected/:
#   cmake -DCOMPILER=<path> -DCOMPILER_ID=<GNU or Clang> -P expect_rejected_test.cmake
cmake_minimum_required(VERSION 3.25)

# check(<file> <what the script must say; empty: it must pass> [<compiler argument>...])
function(check file complaint)
  execute_process(
    COMMAND "${CMAKE_COMMAND}" "-DCOMPILER=${COMPILER}" "-DCOMPILER_ID=${COMPILER_ID}"
      "-DSOURCE=${CMAKE_CURRENT_LIST_DIR}/rejected/${file}" -P "${CMAKE_CURRENT_LIST_DIR}/expect_rejected.cmake"
      -- -std=c++20 ${ARGN}
    RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  string(REGEX REPLACE "[ \n]+" " " output "${output}")   # message() wraps its lines
  if(complaint STREQUAL "")
    if(NOT status EQUAL 0)
      message(SEND_ERROR "${file} ${ARGN}: must pass, but: ${output}")
    endif()
  elseif(status EQUAL 0)
    message(SEND_ERROR "${file} ${ARGN}: must fail, but passed")
  elseif(NOT output MATCHES "${complaint}")
    message(SEND_ERROR "${file} ${ARGN}: must fail by `${complaint}`, but: ${output}")
  endif()
endfunction()

check(for_the_expected_reason.cpp "")
check(for_the_expected_reason.cpp "compiles, but was expected to be rejected" -DCORRECTED)
check(for_the_expected_reason.cpp "is rejected for another reason" -DBROKEN_BEFORE)
check(for_the_expected_reason.cpp "is rejected for another reason" -DBROKEN_BESIDE_THE_TEXT)
check(in_every_place.cpp "")
check(in_every_place.cpp "line 8 of [^ ]+ is not rejected" -DCORRECTED)
check(for_one_of_two_reasons.cpp "is rejected for another reason")
check(without_an_expectation.cpp "has no line")
