// PortCredentials: what the scheduler's ports show, and whom they trust. Both change without a restart: gRPC asks anew
// at each handshake, and connections that are there stay.
//
// The key is made by each process and lives in its memory alone; the certificate is made anew when its time is two
// thirds over and when the authority is changed. Any thread; outlives the servers, and the keeper outlives it.
#pragma once

#include <grpcpp/security/server_credentials.h>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "scheduler/server/listen/begun_calls.h"
#include "scheduler/server/nodes/authority_keeper.h"
#include "sdk/pki/private_key.h"
#include "sdk/pki/sign.h"

namespace glim::server {

class PortCredentials {
 public:
  // Errors of signing: names that cannot stand in a certificate.
  static Result<std::unique_ptr<PortCredentials>> Make(const AuthorityKeeper* keeper, pki::ServerNames names,
                                                       TimePoint now);

  // The authority has changed: the certificate anew, whatever the time is.
  Status Change(TimePoint now);
  // The certificate anew if it is time.
  Status Renew(TimePoint now);

  // TLS, no certificate asked for. `calls` are asked about each call.
  std::shared_ptr<grpc::ServerCredentials> ForUsers(BegunCalls* calls);
  // Mutual TLS: whoever shows no certificate of the cluster's authorities is not connected.
  std::shared_ptr<grpc::ServerCredentials> ForAgents(BegunCalls* calls);

  // What a handshake is done with; immutable.
  struct Shown {
    std::string key, chain;  // PEM
    std::string trusted;     // PEM
  };
  std::shared_ptr<const Shown> shown() const;

 private:
  PortCredentials(const AuthorityKeeper* keeper, pki::ServerNames names) : keeper_(keeper), names_(std::move(names)) {}

  const AuthorityKeeper* const keeper_;
  const pki::ServerNames names_;
  const pki::PrivateKey key_ = pki::PrivateKey::Make();
  std::mutex changing_;       // one change at a time: what was signed before the authority changed comes not after it
  mutable std::mutex mutex_;  // guards what follows
  TimePoint renew_at_;
  std::shared_ptr<const Shown> shown_;
  // gRPC's servers keep no hold of these, and ask them at each handshake. By the thread that makes the ports.
  std::vector<std::shared_ptr<grpc::ServerCredentials>> kept_;
};

// The names that a scheduler's certificate is made out to, of what it listens on and of what its operator calls it:
// hosts and addresses, told apart. Those of this machine alone are always among them.
pki::ServerNames NamesOf(const std::vector<std::string>& listens, const std::vector<std::string>& names);

}  // namespace glim::server
