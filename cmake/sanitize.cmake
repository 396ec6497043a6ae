# -DGLIM_SANITIZE=address,undefined or thread: all of our code is instrumented, in every program. (Not even generated
# code is left out: the linker keeps one copy of an inline function, and it must not be one that reports nothing.)
set(GLIM_SANITIZE "" CACHE STRING "value for -fsanitize=, empty for none")
if(GLIM_SANITIZE)
  add_compile_options(-fsanitize=${GLIM_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${GLIM_SANITIZE})
endif()
if(GLIM_SANITIZE MATCHES thread AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  add_compile_options(-Wno-tsan)  # Asio's fences are unknown to it, and warnings are errors
  # protobuf's headers give map fields two more words where the macro is defined, and Debian's library, which also
  # reaches into them (reflection, JSON), has not these. libstdc++'s headers and ours are told by names of their own.
  add_compile_options(-U__SANITIZE_THREAD__ -D_GLIBCXX_TSAN=1 -DGLIM_THREAD_SANITIZER)
endif()

# The programs carry the run's options in themselves: a shim is started without an environment. Reports are files, so
# that the report of a program that a test started is not lost with its standard error. libFuzzer has its own way.
if(GLIM_SANITIZE)
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/reports)
  add_library(glim_sanitizer_options OBJECT ${CMAKE_SOURCE_DIR}/cmake/sanitizer_options.cc)
  target_compile_definitions(glim_sanitizer_options PRIVATE GLIM_REPORT_PATH="${CMAKE_BINARY_DIR}/reports/report")
  target_compile_options(glim_sanitizer_options PRIVATE -fno-sanitize=all)  # it runs before the sanitizer is ready
endif()

# Gives a program its options; a library and a fuzz target have none.
function(glim_sanitize target)
  get_target_property(type ${target} TYPE)
  if(TARGET glim_sanitizer_options AND type STREQUAL EXECUTABLE AND NOT target MATCHES "^fuzz_")
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:glim_sanitizer_options>)
  endif()
endfunction()

# Takes everything of the sanitizers from a program again, which then links no library of ours.
function(glim_unsanitize target)
  if(GLIM_SANITIZE)
    target_compile_options(${target} PRIVATE -fno-sanitize=all)
    target_link_options(${target} PRIVATE -fno-sanitize=all)
    set_target_properties(${target} PROPERTIES DISABLE_PRECOMPILE_HEADERS ON)  # they are compiled for the others
  endif()
endfunction()

# Called when every target is there: the sanitizers' libraries are shared ones, and a static program cannot have them.
function(glim_sanitize_links)
  foreach(target glim-shim glim-task)
    if(GLIM_SANITIZE AND TARGET ${target})
      get_target_property(options ${target} LINK_OPTIONS)
      list(REMOVE_ITEM options -static -static-libstdc++ -static-libgcc)
      set_target_properties(${target} PROPERTIES LINK_OPTIONS "${options}")
    endif()
  endforeach()
endfunction()
