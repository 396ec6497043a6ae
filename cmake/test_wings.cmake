# Few programs of tests: each links the gRPC libraries, and a program a room is a hundred links. In the preset release
# the tests of a wing of the project are one program, WING_tests (label unit or sim) or WING_server_tests (label
# server). The other presets have a program a room, so that a changed line is one small link, and a sanitizer's run one
# room.
option(GLIM_TEST_WINGS "one program of tests for each wing" OFF)

# The wing of the folder that is read. Allreduce and checkpoints are apart: their tests fork, and load CUDA.
function(glim_wing_of label result)
  file(RELATIVE_PATH folder ${CMAKE_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  set(wings scheduler/core scheduler/sim sdk/hfreduce sdk/checkpoint sdk/device tests/sides "[^/]+")
  list(JOIN wings "|" wings)
  string(REGEX MATCH "^(${wings})" wing ${folder})
  string(REGEX REPLACE "^.*/" "" wing ${wing})
  if(wing STREQUAL proto)
    set(wing sdk)
  endif()
  if(label STREQUAL server)
    string(APPEND wing _server)
  endif()
  set(${result} ${wing}_tests PARENT_SCOPE)
endfunction()

function(glim_add_to_wing wing label room)
  set_property(GLOBAL APPEND PROPERTY GLIM_WINGS ${wing})
  set_property(GLOBAL PROPERTY GLIM_LABEL_OF_${wing} ${label})
  set_property(GLOBAL APPEND PROPERTY GLIM_ROOMS_OF_${wing} ${room})
  set_property(GLOBAL APPEND PROPERTY GLIM_SOURCES_OF_${wing} ${ARGN})
endfunction()

# Called when every room has its tests.
function(glim_make_wings)
  get_property(wings GLOBAL PROPERTY GLIM_WINGS)
  list(REMOVE_DUPLICATES wings)
  foreach(wing ${wings})
    get_property(label GLOBAL PROPERTY GLIM_LABEL_OF_${wing})
    get_property(rooms GLOBAL PROPERTY GLIM_ROOMS_OF_${wing})
    get_property(sources GLOBAL PROPERTY GLIM_SOURCES_OF_${wing})
    add_executable(${wing})
    set_target_properties(${wing} PROPERTIES LINKER_LANGUAGE CXX)
    target_link_libraries(${wing} PRIVATE ${rooms})
    glim_test_program(${wing} ${label} ${sources})
  endforeach()
endfunction()
