# How Holdfast's own code is compiled. Nothing here reaches a consumer of the library.

# Warnings at a level that both compilers pass without one. A target without sources of its own hands them to
# what links it. In the build of another project they are that project's.
function(holdfast_compile_options target)
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "INTERFACE_LIBRARY")
    set(scope INTERFACE)
  else()
    set(scope PRIVATE)
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND (HOLDFAST_UNITY OR CMAKE_UNITY_BUILD))
    target_compile_options(${target} ${scope} -Wno-subobject-linkage)   # it takes files for headers
  endif()
  if(NOT PROJECT_IS_TOP_LEVEL)
    return()
  endif()
  target_compile_options(${target} ${scope}
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wold-style-cast -Wcast-qual
    -Wnon-virtual-dtor -Woverloaded-virtual -Wextra-semi -Wundef -Wimplicit-fallthrough
    $<$<BOOL:${HOLDFAST_STRICT}>:-Werror>)
  if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
    target_compile_options(${target} ${scope} -Wunused-member-function -Wunused-template -Wthread-safety
      "SHELL:-Xclang -fno-pch-timestamp")   # lets ccache share precompiled headers
  else()
    target_compile_options(${target} ${scope} -Wduplicated-cond -Wlogical-op -Wuseless-cast)
  endif()
endfunction()

# holdfast_unity(<target> <files>): where HOLDFAST_UNITY is on, so many files of the target are compiled as one, or as many as
# CMAKE_UNITY_BUILD_BATCH_SIZE says. Templates that they share are then instantiated once for all of them.
function(holdfast_unity target files)
  if(NOT HOLDFAST_UNITY)
    return()
  endif()
  if(DEFINED CMAKE_UNITY_BUILD_BATCH_SIZE)
    set(files ${CMAKE_UNITY_BUILD_BATCH_SIZE})
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${files})
endfunction()

if(HOLDFAST_SANITIZER STREQUAL "address")
  add_compile_options(-fsanitize=address -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address)
  if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
    add_compile_options(-fsanitize=undefined -fno-sanitize-recover=all)
    add_link_options(-fsanitize=undefined)
  endif()
elseif(HOLDFAST_SANITIZER STREQUAL "thread")
  add_compile_options(-fsanitize=thread)
  add_link_options(-fsanitize=thread)
elseif(HOLDFAST_SANITIZER)
  message(FATAL_ERROR "HOLDFAST_SANITIZER is '${HOLDFAST_SANITIZER}'; it takes address, thread or nothing")
endif()
