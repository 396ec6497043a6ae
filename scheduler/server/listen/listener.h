// One port with its services, and what bounds everybody who comes there. Stateless; any thread.
#pragma once

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "scheduler/server/listen/begun_calls.h"
#include "scheduler/server/listen/port_acceptor.h"
#include "sdk/base/result.h"
#include "sdk/base/time.h"

namespace glim::server {

// Of a process that may have so many descriptors: users and agents do not take each other's, and some are left over.
ConnectionBounds UsersConnections(std::size_t descriptors);
ConnectionBounds AgentsConnections(std::size_t descriptors);

struct Listening {
  const char* field = "listen";  // of the configuration, for errors
  std::string address;           // host:port, port 0: the system chooses; or unix:PATH
  std::shared_ptr<grpc::ServerCredentials> credentials;
  std::vector<grpc::Service*> services;    // outlive the server
  bool health = false;                     // answers grpc.health.v1.Health
  OpenConnections* connections = nullptr;  // outlive the port
  BegunCalls* calls = nullptr;             // outlive it, too, and are asked by the credentials; null: in plaintext
};

// A port that is served. One thread.
class Port {
 public:
  Port(std::unique_ptr<grpc::Server> server, std::unique_ptr<PortAcceptor> acceptor)
      : server_(std::move(server)), acceptor_(std::move(acceptor)) {}
  ~Port() { acceptor_->Stop(); }  // before the server goes

  int port() const { return acceptor_->port(); }
  // To the same services, inside this process.
  std::shared_ptr<grpc::Channel> InProcessChannel(const grpc::ChannelArguments& arguments) {
    return server_->InProcessChannel(arguments);
  }
  // As grpc::Server's: nobody is taken from now on, and what is being answered may take until then.
  void Shutdown(std::chrono::system_clock::time_point until) {
    acceptor_->Stop();
    server_->Shutdown(until);
  }
  void Wait() { server_->Wait(); }

 private:
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<PortAcceptor> acceptor_;
};

// Serves when this returns Ok. UNAVAILABLE (BIND_FAILED). Nothing lists what is offered.
Result<std::unique_ptr<Port>> Listen(const Listening& listening);

}  // namespace glim::server
