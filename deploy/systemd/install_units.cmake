# Runs within `cmake --install`: units and examples of the configuration, for the prefix of that moment. Units go to
# PREFIX/lib/systemd/system, where systemd looks for those of /usr and /usr/local. The configuration is in /etc/glim for
# these two prefixes and in PREFIX/etc/glim for others; what is there already is kept.
set(GLIM_BIN ${CMAKE_INSTALL_PREFIX}/bin)
set(GLIM_LIB ${CMAKE_INSTALL_PREFIX}/lib/glim)
set(GLIM_DOC ${CMAKE_INSTALL_PREFIX}/share/doc/glim)
set(etc ${CMAKE_INSTALL_PREFIX}/etc)
if(CMAKE_INSTALL_PREFIX MATCHES "^/usr(/local)?/?$")
  set(etc /etc)
endif()
set(GLIM_ETC ${etc}/glim)

set(units "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/lib/systemd/system")
foreach(unit glim-scheduler.service glim-agent.service glim-replica.service glim-tasks.service glim.slice)
  message(STATUS "Installing: ${units}/${unit}")
  configure_file(${GLIM_UNITS}/${unit}.in ${units}/${unit} @ONLY FILE_PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ
                 WORLD_READ)
endforeach()

# The agent's file where this release has one.
function(glim_example source target)
  set(target "$ENV{DESTDIR}${target}")
  if(EXISTS ${target})
    message(STATUS "Kept: ${target}")
  elseif(EXISTS ${source})
    message(STATUS "Installing: ${target}")
    cmake_path(GET target PARENT_PATH folder)
    file(MAKE_DIRECTORY ${folder})
    file(COPY_FILE ${source} ${target})
  endif()
endfunction()
glim_example(${GLIM_UNITS}/scheduler.yaml ${GLIM_ETC}/scheduler.yaml)
glim_example(${GLIM_UNITS}/agent.env ${GLIM_ETC}/agent.env)
glim_example(${GLIM_UNITS}/replica.env ${GLIM_ETC}/replica.env)
glim_example(${GLIM_UNITS}/../agent.yaml ${GLIM_ETC}/agent.yaml)
glim_example(${GLIM_UNITS}/needrestart.conf ${etc}/needrestart/conf.d/glim.conf)
