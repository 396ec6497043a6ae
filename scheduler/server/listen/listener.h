// One port with its services, and what bounds everybody who comes there. Stateless; any thread.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>
#include <vector>

#include "sdk/base/result.h"

namespace glim::server {

struct Listening {
  const char* field = "listen";  // of the configuration, for errors
  std::string address;           // host:port, port 0: the system chooses; or unix:PATH
  std::shared_ptr<grpc::ServerCredentials> credentials;
  std::vector<grpc::Service*> services;  // outlive the server
  bool health = false;                   // answers grpc.health.v1.Health
};

// Serves when this returns Ok; `port` gets the bound one. UNAVAILABLE (BIND_FAILED). Nothing lists what is offered.
Result<std::unique_ptr<grpc::Server>> Listen(const Listening& listening, int* port);

}  // namespace glim::server
