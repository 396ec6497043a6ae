#include "scheduler/store/postgres/postgres_session.h"

#include <chrono>
#include <string_view>
#include <thread>
#include <utility>

#include <fmt/format.h>

namespace glim::store {

namespace {

// libpq ends messages with a newline and may add context lines.
std::string FirstLine(std::string_view text) { return std::string(text.substr(0, text.find('\n'))); }

// The server went away, is going, or became one that only reads; or a lock or a statement
// did not come to its end in time.
bool IsPassing(std::string_view sqlstate) {
  return sqlstate.starts_with("08") || sqlstate.starts_with("57P") || sqlstate.starts_with("40") ||
         sqlstate == "25006" || sqlstate == "25P03" || sqlstate == "55P03" || sqlstate == "53300" ||
         sqlstate == "57014";
}

// libpqxx tells some errors by type alone, with an empty SQLSTATE.
template <typename Type>
bool Is(const pqxx::sql_error& e) {
  return dynamic_cast<const Type*>(&e) != nullptr;
}

Status FromSqlError(const pqxx::sql_error& e, const char* doing) {
  const std::string state = e.sqlstate();
  const std::string message = fmt::format("PostgreSQL: {}: {} (SQLSTATE {})", doing, FirstLine(e.what()), state);
  if (state.starts_with("53") || Is<pqxx::insufficient_resources>(e)) {
    return Status(StatusCode::kResourceExhausted, message)
        .WithReason("STORE_FULL")
        .WithFix("make room on the database server");
  }
  if (state.starts_with("23") || Is<pqxx::integrity_constraint_violation>(e)) {
    return Status(StatusCode::kInternal, message).WithReason("STORE_CONSTRAINT");
  }
  if (state == "42501" || state.starts_with("28") || Is<pqxx::insufficient_privilege>(e)) {
    return Status(StatusCode::kPermissionDenied, message)
        .WithReason("STORE_DENIED")
        .WithFix("let the scheduler's role own its database");
  }
  if (state == "XX001" || state == "XX002") {
    return Status(StatusCode::kDataLoss, message).WithReason("STORE_CORRUPT").WithFix("restore a backup");
  }
  return Status(StatusCode::kInternal, message).WithReason("STORE_SQL");
}

}  // namespace

pqxx::connection& PostgresSession::Connection() {
  if (connection_ == nullptr || !connection_->is_open()) {
    connection_.reset();
    auto fresh = std::make_unique<pqxx::connection>(conninfo_);
    setup_(*fresh);
    connection_ = std::move(fresh);
  }
  return *connection_;
}

Status PostgresSession::Run(const char* doing, const std::function<Status(pqxx::connection&)>& body) {
  std::string last_error;
  Duration pause = retry_.first_pause;
  for (int tries = 1;; ++tries) {
    try {
      const Status status = body(Connection());
      away_ = false;
      return status;
    } catch (const pqxx::sql_error& e) {
      // A server that shuts down says so in an error and then hangs up.
      const bool lost = connection_ == nullptr || !connection_->is_open();
      if (!lost && !IsPassing(e.sqlstate())) return FromSqlError(e, doing);
      last_error = FirstLine(e.what());
    } catch (const pqxx::transaction_rollback& e) {
      last_error = FirstLine(e.what());
    } catch (const pqxx::in_doubt_error& e) {
      last_error = FirstLine(e.what());
    } catch (const pqxx::broken_connection& e) {
      last_error = FirstLine(e.what());
    } catch (const std::exception& e) {
      if (connection_ != nullptr && connection_->is_open()) {
        return Status(StatusCode::kInternal, fmt::format("PostgreSQL: {}: {}", doing, FirstLine(e.what())))
            .WithReason("STORE_SQL");
      }
      last_error = FirstLine(e.what());
    }
    connection_.reset();
    if (away_ || tries >= retry_.tries_max) {
      away_ = true;
      return Status(StatusCode::kUnavailable,
                    fmt::format("PostgreSQL: {}: gave up after {} tries: {}", doing, tries, last_error))
          .WithReason("STORE_UNREACHABLE")
          .WithFix("check that the database server runs and can be reached");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(pause.ms));
    pause = pause * 2;
  }
}

}  // namespace glim::store
