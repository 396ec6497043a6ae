// A private PostgreSQL server for tests: a Unix socket in a temporary directory, no network. It is stopped and removed
// when the object goes, and also when the test dies: a guard process waits for that.
#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

namespace glim::store {

class PostgresServer {
 public:
  // Starts the server, or ends the program with what its log says: a test must not pass without it.
  PostgresServer();
  PostgresServer(const PostgresServer&) = delete;
  PostgresServer& operator=(const PostgresServer&) = delete;
  ~PostgresServer();

  // Where its socket is; superuser `postgres`, no password.
  const std::string& directory() const { return directory_; }
  // Kills every process of the server without a checkpoint, and starts it again.
  void CrashAndRestart() const;

 private:
  std::string directory_;
  pid_t guard_ = -1;
  int alive_ = -1;  // closed by our end, which the guard sees
};

// Shared by the program's tests, started at its first use.
PostgresServer& SharedPostgres();

// An empty schema of the shared server, in which everything that connects by ConnInfo works; dropped at the end. (A
// database each would cost a test most of its time.)
class TestSchema {
 public:
  TestSchema();
  TestSchema(const TestSchema&) = delete;
  TestSchema& operator=(const TestSchema&) = delete;
  ~TestSchema();

  // Through another socket directory if given.
  std::string ConnInfo(const std::string& user = "postgres", const std::string& directory = "") const;
  // As the superuser, outside of any transaction.
  void Execute(const std::string& sql) const;

 private:
  std::string name_;
};

}  // namespace glim::store
