// One connection to PostgreSQL, made anew when it is lost, and the retries around it. One thread. Nothing throws.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <pqxx/pqxx>

#include "sdk/base/result.h"
#include "sdk/base/time.h"

namespace glim::store {

struct PostgresRetry {
  int tries_max = 6;                        // of one operation, the first included
  Duration first_pause = Milliseconds(50);  // doubled after every try
};

class PostgresSession {
 public:
  // `setup` runs on every new connection, before anything else.
  using Setup = std::function<void(pqxx::connection&)>;
  PostgresSession(std::string conninfo, PostgresRetry retry, Setup setup)
      : conninfo_(std::move(conninfo)), retry_(retry), setup_(std::move(setup)) {}

  // Runs `body` on a connection; it may throw whatever pqxx throws. When the connection is lost on the way, it runs
  // again on a new one, so it must be able to tell what its last run has done. Other errors are returned at once:
  // STORE_FULL (kResourceExhausted), STORE_CONSTRAINT (kInternal), STORE_SQL (kInternal), STORE_DENIED
  // (kPermissionDenied); after the last try STORE_UNREACHABLE (kUnavailable). From then on, until a run succeeds, a run
  // is one try: whoever waits has waited long enough.
  Status Run(const char* doing, const std::function<Status(pqxx::connection&)>& body);

 private:
  pqxx::connection& Connection();

  std::string conninfo_;
  PostgresRetry retry_;
  Setup setup_;
  std::unique_ptr<pqxx::connection> connection_;
  bool away_ = false;  // the last run ended as STORE_UNREACHABLE
};

}  // namespace glim::store
