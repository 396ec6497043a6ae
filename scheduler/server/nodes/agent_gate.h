// AgentGate: which node is at the other end of an agent's connection, and whether it may speak for whom it says.
//
// With identity the certificate says which node it is. It counts if that node was invited and not revoked, if it is its
// newest certificate or the one before, if an authority that counts now has signed it (TLS has looked once, when the
// connection was made), and if the machine is the one that enrolled. Without identity everybody is who they say; then
// no agent with containers is taken, unless nobody but this machine reaches the ports.
//
// Any thread; nothing changes it. What it refuses is audited by who asks it (Denied).
#pragma once

#include <grpcpp/grpcpp.h>

#include <functional>
#include <string>

#include "scheduler/core/model/identity.h"
#include "scheduler/server/loop/audit_chain.h"
#include "sdk/base/status.h"
#include "sdk/base/time.h"

namespace glim::server {

// Of an agent's certificate, which TLS has checked; all empty where there is none.
struct AgentPeer {
  std::string node;
  std::string serial;
  std::string cluster;
  TimePoint valid_until;
  std::string issuer{};  // the id of its signer's key (pki::Certificate::issuer_key_id)
};

class AgentGate {
 public:
  struct Options {
    bool identity = true;
    bool containers_without_identity = false;  // both ports are on loopback
    std::string cluster;
    // What was refused, for the audit trail, which drops what is too much (Door::Denied). Any thread. May be empty.
    std::function<void(AuditNote note, const Status& why)> denied;
    // Whether the authority with this key id counts now. Any thread. Empty: every one that TLS let in.
    std::function<bool(const std::string& issuer)> counts = {};
  };
  explicit AgentGate(Options options) : options_(std::move(options)) {}

  bool identity() const { return options_.identity; }
  AgentPeer PeerOf(const grpc::ServerContextBase& context) const;

  // Whether the certificate counts at all. UNAUTHENTICATED (NO_CERTIFICATE); PERMISSION_DENIED (NOT_ENROLLED,
  // NODE_REVOKED, CERTIFICATE_REPLACED, CERTIFICATE_EXPIRED, UNKNOWN_AUTHORITY).
  Status CheckPeer(const AgentPeer& peer, const core::Identity& rows, TimePoint now) const;
  // And that it may be this node of a pool: also PERMISSION_DENIED (WRONG_NODE, WRONG_MACHINE, LOGIN_HOST).
  Status CheckNode(const AgentPeer& peer, const core::Identity& rows, TimePoint now, const std::string& node,
                   const std::string& machine_id) const;
  // And that it is a host where users log in: also PERMISSION_DENIED (NO_LOGIN_HOST).
  Status CheckLogin(const AgentPeer& peer, const core::Identity& rows, TimePoint now) const;
  // What a node hears whose certificate is of an authority that counts no more: UNKNOWN_AUTHORITY.
  static Status OfDroppedAuthority(const std::string& node);
  // FAILED_PRECONDITION (INSECURE_WITH_CONTAINERS).
  Status CheckRuntime(const std::string& runtime) const;

  // `address`: PeerHost; `object`: "node n1".
  void Denied(const AgentPeer& peer, const std::string& address, const char* method, const std::string& object,
              const Status& why) const;

 private:
  const Options options_;
};

}  // namespace glim::server
