#include "scheduler/store/postgres/postgres_version.h"

#include <memory>

#include <fmt/format.h>
#include <libpq-fe.h>

#include "scheduler/store/postgres/postgres_conninfo.h"

namespace glim::store {
namespace {

struct FinishConnection {
  void operator()(PGconn* connection) const { PQfinish(connection); }
};

}  // namespace

Result<std::string> AskPostgresVersion(const std::string& location) {
  const Result<std::string> conninfo = PostgresConnInfo(location);
  if (!conninfo.ok()) return conninfo.status();
  const std::unique_ptr<PGconn, FinishConnection> connection(PQconnectdb(conninfo->c_str()));
  if (PQstatus(connection.get()) == CONNECTION_OK) {
    const int version = PQserverVersion(connection.get());
    return fmt::format("{}.{}", version / 10'000, version % 10'000);
  }
  std::string why = PQerrorMessage(connection.get());
  while (!why.empty() && (why.back() == '\n' || why.back() == ' ')) why.pop_back();
  return Status(StatusCode::kUnavailable, why.empty() ? "there is no connection" : why);
}

}  // namespace glim::store
