// Where PostgreSQL is, without a password where others could read it: process lists and configuration files show URLs.
//
//   (empty)                              libpq's environment alone: PGHOST, PGSERVICE, PGPASSFILE ...
//   service=glim                         an entry of pg_service.conf
//   host=/run/postgresql dbname=glim     libpq's keywords, or postgresql://user@host/dbname
//   file=/etc/glim/postgres.conf         a private file that holds such a text, here with a password if need be
#pragma once

#include <string>

#include "sdk/base/result.h"

namespace glim::store {

// The text for libpq: checked, with bounds on waiting added where nothing was said (connect_timeout 5 s,
// tcp_user_timeout 15 s, keepalives, target_session_attrs=read-write). kInvalidArgument names what is wrong.
Result<std::string> PostgresConnInfo(const std::string& location);

}  // namespace glim::store
