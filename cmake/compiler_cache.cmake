# ccache makes a rebuild cheap, in this clone and in any other: what is compiled does not know where it lies.
# A machine without ccache builds all the same.
file(RELATIVE_PATH glim_from_build ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR})
# Names of files in debug information and in messages are from the root. ccache makes the paths that a compiler is given
# relative to the build folder, hence the second.
add_compile_options(-ffile-prefix-map=${CMAKE_SOURCE_DIR}/= -ffile-prefix-map=${glim_from_build}=)
find_program(GLIM_CCACHE ccache)
if(GLIM_CCACHE)
  # It sees neither the macros nor the dates in a precompiled header; it must be told that this is well.
  set(CMAKE_CXX_COMPILER_LAUNCHER
      env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${GLIM_CCACHE})
endif()
