# Bugs that are planted for one test (scheduler/core/planted.h): the few sources that have any are compiled a second
# time with them, and the test takes the rest from the libraries as they are.

# The sources of `target` that have planted bugs, as absolute paths.
function(glim_planted_sources target result)
  get_target_property(folder ${target} SOURCE_DIR)
  get_target_property(sources ${target} SOURCES)
  set(found)
  foreach(source ${sources})
    get_filename_component(path ${source} ABSOLUTE BASE_DIR ${folder})
    if(EXISTS ${path})  # not generated
      file(STRINGS ${path} has REGEX "^#include \".*/planted\\.h\"")
      if(has)
        list(APPEND found ${path})
      endif()
    endif()
  endforeach()
  set(${result} ${found} PARENT_SCOPE)
endfunction()

# Compiles these sources of `target` apart from its others, so that the linker can leave them out: it takes a unit from
# a library only for a function that no object before it has. Called in the folder of the target.
function(glim_planted_apart target)
  glim_planted_sources(${target} planted)
  get_target_property(folder ${target} SOURCE_DIR)
  get_target_property(sources ${target} SOURCES)
  foreach(source ${sources})
    get_filename_component(path ${source} ABSOLUTE BASE_DIR ${folder})
    if(path IN_LIST planted)
      set_source_files_properties(${path} PROPERTIES GLIM_UNITY_GROUP planted)
    endif()
  endforeach()
endfunction()
