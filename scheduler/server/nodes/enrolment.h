// Enrolment: gives machines their certificates: against an invitation that counts once (EnrolApi.Enrol), and a new one
// to whoever has one that counts (AgentApi.RenewCertificate).
//
// Any thread; answers come once, from the caller's thread or from the loop's. Loop, gate and keeper outlive it.
#pragma once

#include <functional>
#include <string>

#include "glim/v1/agent_api.pb.h"
#include "glim/v1/enrol_api.pb.h"
#include "scheduler/server/loop/scheduler_loop.h"
#include "scheduler/server/nodes/agent_gate.h"
#include "scheduler/server/nodes/attempt_rate.h"
#include "scheduler/server/nodes/authority_keeper.h"

namespace glim::server {

template <typename Answer>
using Answered = std::function<void(const Result<Answer>&)>;

class Enrolment {
 public:
  struct Parts {
    SchedulerLoop* loop;
    const AgentGate* gate;
    AuthorityKeeper* keeper;
    std::string cluster_id;
    std::function<std::string()> listen_agents;  // HOST:PORT for another machine
    // The node has another certificate from now on: streams of the one before are to end.
    std::function<void(const std::string& node)> enrolled;
    std::function<TimePoint()> clock;  // empty: the loop's
  };
  explicit Enrolment(Parts parts) : parts_(std::move(parts)) {}

  // `peer`: PeerHost. RESOURCE_EXHAUSTED (ENROL_RATE); PERMISSION_DENIED (BAD_INVITATION: no such node, no open
  // invitation, another token, one that was used; INVITATION_EXPIRED); INVALID_ARGUMENT (BAD_CSR; machine_id).
  void Enrol(const v1::EnrolRequest& request, const std::string& peer, Answered<v1::EnrolResponse> done);
  // Refusals of AgentGate::CheckPeer; RESOURCE_EXHAUSTED (RENEW_RATE); INVALID_ARGUMENT (BAD_CSR).
  void Renew(const AgentPeer& node, const v1::RenewCertificateRequest& request, const std::string& peer,
             Answered<v1::RenewCertificateResponse> done);

 private:
  TimePoint Now() const { return parts_.clock ? parts_.clock() : parts_.loop->Now(); }
  Result<core::NodeIdentity> FindInvited(const v1::EnrolRequest& request) const;

  const Parts parts_;
  AttemptRate attempts_;  // by peer
  AttemptRate renewals_;  // by node
};

}  // namespace glim::server
