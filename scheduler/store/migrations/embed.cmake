# Writes OUTPUT, a C++ source that holds every migration of DIRECTORY/{sqlite,postgres}/NNNN_name.sql.
# Numbers run from 1 without gaps: a missing one fails the build.
function(embed dialect function)
  file(GLOB files ${DIRECTORY}/${dialect}/*.sql)
  list(SORT files)
  set(expected 0)
  set(rows "")
  foreach(path ${files})
    get_filename_component(file ${path} NAME)
    if(NOT file MATCHES "^([0-9][0-9][0-9][0-9])_([a-z0-9_]+)\\.sql$")
      message(FATAL_ERROR "${path}: a migration is named NNNN_name.sql")
    endif()
    set(name ${CMAKE_MATCH_2})
    string(REGEX REPLACE "^0+" "" number ${CMAKE_MATCH_1})
    math(EXPR expected "${expected} + 1")
    if(NOT number EQUAL expected)
      message(FATAL_ERROR "${path}: expected number ${expected}")
    endif()
    file(READ ${path} sql)
    string(APPEND rows "      {${number}, \"${name}\", R\"__sql__(${sql})__sql__\"},\n")
  endforeach()
  set(text "std::span<const Migration> ${function}() {\n  static constexpr Migration kMigrations[] = {\n${rows}  };\n")
  string(APPEND text "  return kMigrations;\n}\n\n")
  set(${dialect}_text "${text}" PARENT_SCOPE)
endfunction()

embed(sqlite SqliteMigrations)
embed(postgres PostgresMigrations)
file(WRITE ${OUTPUT} "// Made from scheduler/store/migrations by embed.cmake.
#include \"scheduler/store/migrations/migration.h\"

namespace glim::store {

${sqlite_text}${postgres_text}}  // namespace glim::store
")
