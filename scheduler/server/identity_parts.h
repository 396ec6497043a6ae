// IdentityParts: what makes this scheduler one that knows who asks: its authority, what its ports show, who may be a
// node, logins, and break-glass. Without identity it has the gate alone, which lets everybody in.
//
// Owned by the Server; outlives its gRPC servers and the loop's last answer. Any thread, once OpenKeys has returned.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "scheduler/server/agents/agent_strand.h"
#include "scheduler/server/config.h"
#include "scheduler/server/listen/control_socket.h"
#include "scheduler/server/listen/port_credentials.h"
#include "scheduler/server/listen/refused_handshakes.h"
#include "scheduler/server/loop/scheduler_loop.h"
#include "scheduler/server/nodes/agent_gate.h"
#include "scheduler/server/nodes/ca_rotation.h"
#include "scheduler/server/nodes/enrolment.h"
#include "scheduler/server/nodes/login_affairs.h"
#include "scheduler/server/nodes/node_affairs.h"

namespace glim::server {

class IdentityParts {
 public:
  struct Around {
    SchedulerLoop* loop;
    AgentStrand* strand;
    std::string cluster_id;
    std::function<void(AuditNote, const Status&)> denied;                         // the door's
    std::function<void(const std::string& node, const Status& why)> end_streams;  // of this node's agent; any thread
  };
  IdentityParts(const Config& config, Around around);
  // Once the loop runs, before agents and users come. Nothing without identity.
  Status OpenKeys();

  bool identity() const { return keeper_ != nullptr; }
  const AgentGate& gate() const { return gate_; }
  AuthorityKeeper* keeper() const { return keeper_.get(); }  // null: without identity
  Enrolment* enrolment() const { return enrolment_.get(); }  // likewise
  LoginAffairs* logins() const { return logins_.get(); }     // likewise
  std::shared_ptr<const identity::ClusterAuthority> authority() const {
    return keeper_ ? keeper_->authority() : nullptr;
  }
  NodeAffairs& nodes() { return nodes_; }
  CaRotation& rotation() { return rotation_; }
  std::shared_ptr<grpc::ServerCredentials> ForUsers(BegunCalls* calls) const;
  std::shared_ptr<grpc::ServerCredentials> ForAgents(BegunCalls* calls) const;

  // What the ports show at a handshake, now. Null: without identity.
  std::shared_ptr<const PortCredentials::Shown> shown() const { return ports_ ? ports_->shown() : nullptr; }

  // HOST:PORT for other machines, once the ports are bound.
  void Bound(int port, int agents_port);
  std::string listen() const;
  std::string listen_agents() const;
  // The same of another port.
  std::string ReachedByOthers(const std::string& bound, int port) const;

  // Before the strand stops: nothing is asked by the control socket any more, nothing is renewed.
  void Stop();

 private:
  void AuthorityChanged();
  void RenewLater();
  void LookAtHandshakesLater();

  const Config config_;
  const Around around_;
  const AgentGate gate_;
  std::unique_ptr<AuthorityKeeper> keeper_;
  std::unique_ptr<PortCredentials> ports_;
  std::unique_ptr<Enrolment> enrolment_;
  std::unique_ptr<LoginAffairs> logins_;
  NodeAffairs nodes_;
  CaRotation rotation_;
  std::unique_ptr<ControlSocket> control_;
  boost::asio::steady_timer timer_;
  HandshakeWatch handshakes_;
  boost::asio::steady_timer handshakes_timer_;
  mutable std::mutex mutex_;  // guards what follows
  int port_ = 0;
  int agents_port_ = 0;
};

}  // namespace glim::server
