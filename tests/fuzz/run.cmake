# The short run of a fuzz target: first the corpus, then inputs that follow from it and a fixed seed, for so many SECONDS.
#   cmake -DPROGRAM=<fuzz target> -DCORPUS=<folder> -DFOLDER=<scratch folder> -DSECONDS=<number> -P run.cmake
# The corpus is only read. What the fuzzer writes goes to the scratch folder, which is left behind when it fails.
file(REMOVE_RECURSE "${FOLDER}")
file(MAKE_DIRECTORY "${FOLDER}/found")
file(GLOB inputs "${CORPUS}/*")
if(NOT inputs)
  message(FATAL_ERROR "${CORPUS} is empty")
endif()

function(run)
  execute_process(COMMAND "${PROGRAM}" -seed=1 -max_len=4096 -timeout=10 "-artifact_prefix=${FOLDER}/" ${ARGN}
    RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${output}\nThe input is in ${FOLDER}; run ${PROGRAM} with it as the only argument")
  endif()
  string(REGEX MATCH "[^\n]*\n*$" last "${output}")
  message(STATUS "${last}")
endfunction()

run(${inputs})
run("-max_total_time=${SECONDS}" "${FOLDER}/found" "${CORPUS}")
file(REMOVE_RECURSE "${FOLDER}")
