# cctz::cctz, the rules of time zones, from headers and library alone: Debian's package has no configuration for CMake.
if(NOT TARGET cctz::cctz)
  find_path(HOLDFAST_CCTZ_INCLUDE_DIR cctz/time_zone.h)
  find_library(HOLDFAST_CCTZ_LIBRARY cctz)
  mark_as_advanced(HOLDFAST_CCTZ_INCLUDE_DIR HOLDFAST_CCTZ_LIBRARY)
  if(NOT HOLDFAST_CCTZ_INCLUDE_DIR OR NOT HOLDFAST_CCTZ_LIBRARY)
    message(FATAL_ERROR "Holdfast needs cctz, for the time zones of schedules; on Debian: apt-get install libcctz-dev")
  endif()
  add_library(cctz::cctz UNKNOWN IMPORTED GLOBAL)
  set_target_properties(cctz::cctz PROPERTIES IMPORTED_LOCATION "${HOLDFAST_CCTZ_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${HOLDFAST_CCTZ_INCLUDE_DIR}")
endif()
