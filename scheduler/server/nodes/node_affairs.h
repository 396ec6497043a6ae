// NodeAffairs: what operators do with nodes' identities: invite, revoke, label. The caller's right was checked before.
//
// Any thread; answers come once, from the caller's thread or from the loop's. Loop and keeper outlive it.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "glim/v1/admin_api.pb.h"
#include "scheduler/server/loop/scheduler_loop.h"
#include "scheduler/server/nodes/authority_keeper.h"
#include "scheduler/server/nodes/enrolment.h"

namespace glim::server {

class NodeAffairs {
 public:
  struct Parts {
    SchedulerLoop* loop;
    AuthorityKeeper* keeper;                     // null: without identity
    std::function<std::string()> listen;         // HOST:PORT for another machine
    std::function<std::string()> listen_agents;  // likewise
    // The node's streams are to end: its certificates count no more.
    std::function<void(const std::string& node)> revoked;
  };
  explicit NodeAffairs(Parts parts) : parts_(std::move(parts)) {}
  // Before the first call.
  void Use(Parts parts) { parts_ = std::move(parts); }

  // `note` says who asks, from where, by which method; object and words are filled in here.
  // INVALID_ARGUMENT names the field; FAILED_PRECONDITION: NO_IDENTITY, NODE_IN_POOL (a node of a pool is to become a
  // login host, or the other way round).
  void Invite(const v1::InviteNodeRequest& request, AuditNote note, Answered<v1::InviteNodeResponse> done);
  // Idempotent. NOT_FOUND: no such node was ever invited. Its open invitation goes as well.
  void Revoke(const v1::RevokeNodeRequest& request, AuditNote note, Answered<v1::RevokeNodeResponse> done);
  void Label(const v1::LabelNodeRequest& request, AuditNote note, Answered<v1::LabelNodeResponse> done);

 private:
  Parts parts_;
};

}  // namespace glim::server
