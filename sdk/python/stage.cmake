# Makes FOLDER hold PARTS (in python/glim), PROGRAMS (in bin) and nothing else; a file of python/glim that is named in
# KEPT stays if it is there. Tasks may be using it: a file is replaced by a rename, and one that did not change is left
# alone.
# Bytecode is made here, for PYTHON: a container's folder is read-only, and compiling the modules would cost each start
# of a rank anew.
cmake_minimum_required(VERSION 3.25)
foreach(needed PARTS PROGRAMS FOLDER PYTHON)
  if(NOT ${needed})
    message(FATAL_ERROR "stage.cmake: ${needed} is not set")
  endif()
endforeach()

function(stage source folder)
  get_filename_component(name ${source} NAME)
  set(target ${folder}/${name})
  if(EXISTS ${target})
    file(SHA256 ${source} new)
    file(SHA256 ${target} old)
    if(new STREQUAL old)
      return()
    endif()
  endif()
  file(COPY_FILE ${source} ${folder}/.${name}.new)
  file(RENAME ${folder}/.${name}.new ${target})
endfunction()

set(names ${KEPT})
set(package ${FOLDER}/python/glim)
file(MAKE_DIRECTORY ${package} ${FOLDER}/bin)
foreach(part ${PARTS})
  stage(${part} ${package})
  get_filename_component(name ${part} NAME)
  list(APPEND names ${name})
endforeach()
foreach(program ${PROGRAMS})
  stage(${program} ${FOLDER}/bin)
endforeach()
file(GLOB found RELATIVE ${package} ${package}/*.py ${package}/*.so)
foreach(name ${found})
  if(NOT name IN_LIST names)
    file(REMOVE ${package}/${name})
  endif()
endforeach()

# By their sources' hashes: times change when a folder is copied to a node.
execute_process(COMMAND ${PYTHON} -m compileall -q --invalidation-mode checked-hash ${package} RESULT_VARIABLE failed
                OUTPUT_QUIET)
if(failed)
  message(WARNING "the SDK's modules were not compiled by ${PYTHON}; tasks compile them at each start")
endif()
