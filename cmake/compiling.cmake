# How Holdfast's own code is compiled. Nothing here reaches a consumer of the library.

# Warnings at a level that both compilers pass without one, and the sanitizer of this build.
function(holdfast_compile_options target)
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wold-style-cast -Wcast-qual
    -Wnon-virtual-dtor -Woverloaded-virtual -Wextra-semi -Wundef -Wimplicit-fallthrough
    $<$<BOOL:${HOLDFAST_STRICT}>:-Werror>)
  if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
    target_compile_options(${target} PRIVATE -Wunused-member-function -Wunused-template
      "SHELL:-Xclang -fno-pch-timestamp")   # lets ccache share precompiled headers
  else()
    target_compile_options(${target} PRIVATE -Wduplicated-cond -Wlogical-op -Wuseless-cast)
  endif()
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
