// SchedulerLink: the agent's connection to the scheduler, with the credentials that count. New credentials make a new
// channel; calls that were begun by the old one end by themselves.
//
// On the agent's loop; not thread-safe.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <optional>
#include <string>

#include "glim/v1/agent_api.grpc.pb.h"
#include "nodeagent/identity/identity_folder.h"

namespace glim::nodeagent {

// To `target`, HOST:PORT. TLS, by the scheduler's certificate of one of the authorities, whatever it is reached by;
// with a certificate of our own for whoever has one. No credentials: plaintext. `bytes_max` of what is received.
std::shared_ptr<grpc::Channel> ConnectScheduler(const std::string& target,
                                                const std::shared_ptr<grpc::ChannelCredentials>& credentials,
                                                std::size_t bytes_max);
std::shared_ptr<grpc::ChannelCredentials> CredentialsOf(const NodeCredentials& own);

class SchedulerLink {
 public:
  // nullopt: without identity.
  SchedulerLink(std::string target, const std::optional<NodeCredentials>& credentials, std::size_t bytes_max);

  void Use(const NodeCredentials& credentials);
  v1::AgentApi::StubInterface* stub() const { return stub_.get(); }

 private:
  const std::string target_;
  const std::size_t bytes_max_;
  std::unique_ptr<v1::AgentApi::Stub> stub_;
};

}  // namespace glim::nodeagent
