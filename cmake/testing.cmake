# Tests: one binary per folder, compiled at -O0 over a shared precompiled header, in one ctest entry or several.
find_package(GTest REQUIRED)
find_package(rapidcheck REQUIRED)

# A source of its own, so that the precompiled header is built once and shared by all test binaries.
file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/test_pch.cpp" CONTENT "")
add_library(holdfast_test_pch OBJECT "${PROJECT_BINARY_DIR}/test_pch.cpp")
holdfast_compile_options(holdfast_test_pch)
target_compile_options(holdfast_test_pch PRIVATE -O0 -g1)
target_link_libraries(holdfast_test_pch PRIVATE holdfast GTest::gtest rapidcheck)
target_precompile_headers(holdfast_test_pch PRIVATE
  <gtest/gtest.h> <rapidcheck/gtest.h> <algorithm> <chrono> <functional> <map> <memory> <optional> <string> <string_view> <tuple>
  <unordered_map> <variant> <vector> <holdfast/holdfast.hpp>)

# How test code is compiled, over the shared precompiled header. Files that are compiled as one share their unnamed namespace: where
# names would meet, each stands in a namespace of its own, called as the file is (holdfast::e2e::runs_test).
function(holdfast_test_options target)
  holdfast_compile_options(${target})
  holdfast_unity(${target} 8)
  target_compile_options(${target} PRIVATE -O0 -g1)
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}")
  target_link_libraries(${target} PRIVATE holdfast GTest::gtest rapidcheck)
  target_precompile_headers(${target} REUSE_FROM holdfast_test_pch)
endfunction()

# What is put in front of the command of a test, so that it is ended when it hangs: tests/watch. A test has two minutes, or
# what it declares; sanitizers and a busy machine make it slower.
set(HOLDFAST_WATCH watch 120)
if(HOLDFAST_SANITIZER)
  set(HOLDFAST_WATCH watch 400)
endif()

# holdfast_test(<binary> [EVERY_COMPILER] SOURCES <file>... [LIBRARIES <target>...] [SHARDS <n>] [SECONDS <n>] [NEEDS_POSTGRES])
# EVERY_COMPILER: also built and run by the presets that check another compiler.
# SHARDS: in so many entries, for what takes long.
# SECONDS: about so long each of them takes, where it is long: the longest are started first.
# NEEDS_POSTGRES: runs while the PostgreSQL server of the test run is there; without one it fails.
function(holdfast_test name)
  cmake_parse_arguments(ARG "EVERY_COMPILER;NEEDS_POSTGRES" "SHARDS;SECONDS" "SOURCES;LIBRARIES" ${ARGN})
  if(HOLDFAST_TEST_SCOPE STREQUAL "every-compiler" AND NOT ARG_EVERY_COMPILER)
    return()
  endif()
  add_executable(${name} ${ARG_SOURCES})
  holdfast_test_options(${name})
  target_link_libraries(${name} PRIVATE ${ARG_LIBRARIES} GTest::gtest_main)
  file(RELATIVE_PATH folder "${PROJECT_SOURCE_DIR}" "${CMAKE_CURRENT_SOURCE_DIR}")
  if(NOT ARG_SHARDS)
    set(ARG_SHARDS 1)
  endif()
  if(NOT ARG_SECONDS)
    set(ARG_SECONDS 0)
  endif()
  foreach(shard RANGE 1 ${ARG_SHARDS})
    set(entry ${name})
    if(ARG_SHARDS GREATER 1)
      set(entry "${name} ${shard} of ${ARG_SHARDS}")
    endif()
    math(EXPR index "${shard} - 1")
    add_test(NAME "${entry}" COMMAND ${HOLDFAST_WATCH} "$<TARGET_FILE:${name}>" --gtest_brief=0
      WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
    set_tests_properties("${entry}" PROPERTIES LABELS "${folder}" TIMEOUT 1800 COST ${ARG_SECONDS}
      ENVIRONMENT "GTEST_TOTAL_SHARDS=${ARG_SHARDS};GTEST_SHARD_INDEX=${index}")
    if(ARG_NEEDS_POSTGRES)
      set_tests_properties("${entry}" PROPERTIES FIXTURES_REQUIRED postgres_server)
      set_property(TEST "${entry}" APPEND PROPERTY ENVIRONMENT "HOLDFAST_TEST_POSTGRES=${PROJECT_BINARY_DIR}/stores/postgres/server")
    endif()
  endforeach()
endfunction()

# holdfast_rejects(<file> [EVERY_COMPILER] [DEFINITIONS <macro[=value]>...])
# A test that the compiler rejects the file, says each text that a line `// expect: <text>` of the file holds, and points to
# each line that ends with `// rejected here`.
function(holdfast_rejects file)
  cmake_parse_arguments(ARG "EVERY_COMPILER" "" "DEFINITIONS" ${ARGN})
  if(HOLDFAST_SANITIZER STREQUAL "thread")   # which adds nothing to what the compiler says
    return()
  endif()
  if(HOLDFAST_TEST_SCOPE STREQUAL "every-compiler" AND NOT ARG_EVERY_COMPILER)
    return()
  endif()
  list(TRANSFORM ARG_DEFINITIONS PREPEND "-D")
  file(RELATIVE_PATH folder "${PROJECT_SOURCE_DIR}" "${CMAKE_CURRENT_SOURCE_DIR}")
  list(JOIN ARG_DEFINITIONS " " suffix)
  string(STRIP "rejects ${folder}/${file} ${suffix}" name)
  add_test(NAME "${name}" COMMAND "${CMAKE_COMMAND}" "-DCOMPILER=${CMAKE_CXX_COMPILER}"
    "-DCOMPILER_ID=${CMAKE_CXX_COMPILER_ID}" "-DSOURCE=${CMAKE_CURRENT_SOURCE_DIR}/${file}"
    -P "${PROJECT_SOURCE_DIR}/tests/compiler/expect_rejected.cmake" --
    -std=c++20 "-I${PROJECT_SOURCE_DIR}/include" "-I${PROJECT_SOURCE_DIR}/src" "-I${PROJECT_SOURCE_DIR}"
    ${ARG_DEFINITIONS})
  set_tests_properties("${name}" PROPERTIES LABELS "${folder};slow" TIMEOUT 120)
endfunction()
