# Precompiled headers: they make a clean build cheaper. -DGLIM_PCH=OFF builds without, to see that every source
# includes what it uses.
#
# There are a few sets of headers; each is compiled once and shared by the targets that link what it is about.
option(GLIM_PCH "precompile the heavy headers" ON)
if(GLIM_PCH)
  add_compile_options(-pthread)  # or code without it could not use the headers of code that has it
endif()

# Part of every set. No <chrono>, <thread> or <random>: the pure libraries have no business with them.
set(glim_std_headers <algorithm> <compare> <cstddef> <cstdint> <functional> <map> <memory> <optional> <set> <span>
    <string> <string_view> <tuple> <type_traits> <utility> <variant> <vector>)

# What the code of some sets is compiled with, beside the build type's options. Test code is compiled far more often
# than it runs, what talks gRPC waits for others, and so do the agent and the command line; what is measured keeps its
# optimisation (glim_measured). The sanitizers make twice as much of it: there the services and their tests, which
# mostly wait, get none. (Not the simulation and the tests of the core: the linker keeps one copy of an inline function,
# and with such a one they take fifty times as long.)
if(GLIM_SANITIZE)
  set(glim_less_optimised grpc)
  set(glim_less -O0)
else()
  set(glim_less_optimised test grpc std_waits json_waits)
  set(glim_less $<$<CONFIG:Release>:-O1>)
endif()

# The folders whose code is measured: planner and rows, allreduce, checkpoints, and what these are made of.
set(glim_measured scheduler/core scheduler/store scheduler/sim sdk/base sdk/checkpoint sdk/device sdk/hfreduce sdk/io
    sdk/net sdk/snapshot sdk/tokens sdk/threads tests/bench)

function(glim_is_measured target result)
  get_target_property(folder ${target} SOURCE_DIR)
  set(${result} NO PARENT_SCOPE)
  foreach(room ${glim_measured})
    set(room ${CMAKE_SOURCE_DIR}/${room})
    cmake_path(IS_PREFIX room ${folder} inside)
    if(inside)
      set(${result} YES PARENT_SCOPE)
    endif()
  endforeach()
endfunction()

# glim_precompiled_set(NAME HEADERS... LINKS...): defines it, and is built only where a target uses it.
function(glim_precompiled_set name)
  cmake_parse_arguments(arg "" "" "HEADERS;LINKS" ${ARGN})
  set(source ${CMAKE_BINARY_DIR}/precompile/${name}.cc)
  file(CONFIGURE OUTPUT ${source} CONTENT "// GCC needs a source to precompile headers for.\n")
  add_library(glim_pch_${name} OBJECT EXCLUDE_FROM_ALL ${source})
  target_link_libraries(glim_pch_${name} PRIVATE ${arg_LINKS})
  if(name IN_LIST glim_less_optimised)
    target_compile_options(glim_pch_${name} PRIVATE ${glim_less})
  endif()
  target_precompile_headers(glim_pch_${name} PRIVATE ${glim_std_headers} ${arg_HEADERS})
  if(GLIM_CCACHE)
    # By what the preprocessor makes of the headers: by their list ccache has given the set of before a .proto changed.
    get_target_property(launcher glim_pch_${name} CXX_COMPILER_LAUNCHER)
    set_target_properties(glim_pch_${name} PROPERTIES CXX_COMPILER_LAUNCHER
                          "${CMAKE_SOURCE_DIR}/cmake/compile_header;env;CCACHE_NODIRECT=1;${launcher}")
  endif()
endfunction()

# Every library that `target` is compiled against, our own followed.
function(glim_all_links target result)
  set(found)
  set(pending ${target})
  while(pending)
    list(POP_FRONT pending next)
    get_target_property(imported ${next} IMPORTED)
    if(imported)
      continue()
    endif()
    foreach(property LINK_LIBRARIES INTERFACE_LINK_LIBRARIES)
      get_target_property(links ${next} ${property})
      foreach(link ${links})
        if(TARGET ${link} AND NOT link IN_LIST found)
          list(APPEND found ${link})
          list(APPEND pending ${link})
        endif()
      endforeach()
    endforeach()
  endwhile()
  set(${result} ${found} PARENT_SCOPE)
endfunction()

# The set that a target uses, by what it links. One for all that links gRPC: to write a set of that size costs as much
# as four units save by it, so a second one for tests or for services does not pay.
function(glim_precompiled_set_of target result)
  glim_all_links(${target} links)
  if(glim_proto IN_LIST links)
    set(set grpc)
  elseif(GTest::gtest IN_LIST links)
    set(set test)
  elseif(nlohmann_json::nlohmann_json IN_LIST links)
    set(set json)
  else()
    set(set std)
  endif()
  glim_is_measured(${target} measured)
  if(set MATCHES "^(json|std)$" AND NOT measured AND NOT GLIM_SANITIZE)
    string(APPEND set _waits)
  endif()
  set(${result} ${set} PARENT_SCOPE)
endfunction()

function(glim_precompile target)
  glim_precompiled_set_of(${target} set)
  if(set IN_LIST glim_less_optimised)
    target_compile_options(${target} PRIVATE ${glim_less})
  endif()
  if(GLIM_PCH)
    if("${set}" STREQUAL "grpc")
      target_compile_definitions(${target} PRIVATE BOOST_ALL_NO_LIB)  # as Boost::headers has it: the set is one for all
    endif()
    target_precompile_headers(${target} REUSE_FROM glim_pch_${set})
  endif()
endfunction()

# What a program has of its own is mostly its command line, 17 s of compiling at -O2. A set that is compiled with other
# options is of no use to it: the compiler would open it and read the headers all the same.
function(glim_precompile_as_program target)
  glim_precompiled_set_of(${target} set)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  if(CMAKE_BUILD_TYPE STREQUAL Release AND NOT set IN_LIST glim_less_optimised)
    set_target_properties(${target} PROPERTIES DISABLE_PRECOMPILE_HEADERS ON)
  endif()
endfunction()

if(GLIM_PCH)
  set(json <nlohmann/json.hpp>)
  set(grpc <chrono> <filesystem> <mutex> <thread> <grpcpp/grpcpp.h> <glim/v1/client_api.grpc.pb.h>
      <glim/v1/admin_api.grpc.pb.h> <glim/v1/agent_api.grpc.pb.h> <boost/asio/io_context.hpp> <boost/asio/post.hpp>
      <boost/asio/steady_timer.hpp>)
  set(test ${json} <gtest/gtest.h> <gmock/gmock.h>)
  glim_precompiled_set(std)
  glim_precompiled_set(std_waits)
  glim_precompiled_set(json HEADERS ${json} LINKS nlohmann_json::nlohmann_json)
  glim_precompiled_set(json_waits HEADERS ${json} LINKS nlohmann_json::nlohmann_json)
  glim_precompiled_set(test HEADERS ${test} LINKS GTest::gtest GTest::gmock nlohmann_json::nlohmann_json)
  if(GLIM_PARTS STREQUAL all)
    glim_precompiled_set(grpc HEADERS ${grpc} LINKS glim_proto Boost::headers)
  endif()
endif()
