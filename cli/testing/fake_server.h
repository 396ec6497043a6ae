// A scheduler for the CLI's tests: the real APIs on a real socket, with answers that the test sets. Records what was
// asked. Threads: the services run on gRPC's; `state` is guarded, reach it through Lock().
#pragma once

#include <memory>
#include <string>

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>

#include "cli/testing/fake_state.h"

namespace glim::cli {

class FakeLayoutCalls;
class FakeOperateCalls;
class FakeReportCalls;
class FakeReserveCalls;
class FakeSchedCalls;

class FakeServer {
 public:
  // Null: plaintext.
  explicit FakeServer(std::shared_ptr<grpc::ServerCredentials> credentials = nullptr);
  ~FakeServer();

  const std::string& address() const { return address_; }

  // Exclusive access to the state while the handle lives.
  FakeHandle Lock() { return desk_.Lock(); }

 private:
  class ClientService;
  class AdminService;
  class LogService;

  FakeDesk desk_;
  std::unique_ptr<ClientService> client_;
  std::unique_ptr<AdminService> admin_;
  std::unique_ptr<FakeReportCalls> report_;
  std::unique_ptr<LogService> log_;
  std::unique_ptr<FakeLayoutCalls> layout_;
  std::unique_ptr<FakeOperateCalls> operate_;
  std::unique_ptr<FakeReserveCalls> reserve_;
  std::unique_ptr<FakeSchedCalls> sched_;
  std::unique_ptr<grpc::Server> server_;
  std::string address_;
};

}  // namespace glim::cli
