// CaRotation: changes the cluster's authority while the cluster runs (scheduler/identity/cluster_authority.h says how).
//
// Any thread; one change at a time. Loop and keeper outlive it.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "glim/v1/admin_api.pb.h"
#include "scheduler/server/loop/scheduler_loop.h"
#include "scheduler/server/nodes/authority_keeper.h"
#include "scheduler/server/nodes/enrolment.h"

namespace glim::server {

// Nodes that may have no certificate but one of another authority than the one that signs them: the newest is, or the
// one before is and the newest was not used yet (its answer may have been lost).
std::vector<std::string> NotRenewed(const core::Identity& rows, const identity::ClusterAuthority& authority,
                                    TimePoint now);

class CaRotation {
 public:
  struct Parts {
    SchedulerLoop* loop;
    AuthorityKeeper* keeper;  // null: without identity
    // The keeper has another authority: what is shown and trusted is written anew, agents are told.
    std::function<void()> changed;
    // This node's certificate counts no more: its streams are to end. Any thread.
    std::function<void(const std::string& node)> dropped;
  };
  explicit CaRotation(Parts parts) : parts_(std::move(parts)) {}
  // Before the first call.
  void Use(Parts parts) { parts_ = std::move(parts); }

  // FAILED_PRECONDITION: NO_IDENTITY, ROTATION, NOT_RENEWED. ABORTED: somebody else changes it just now.
  void Rotate(const v1::RotateCaRequest& request, AuditNote note, Answered<v1::RotateCaResponse> done);

 private:
  void Commit(std::shared_ptr<identity::ClusterAuthority> next, AuditNote note, Answered<v1::RotateCaResponse> done);

  Parts parts_;
  std::atomic<bool> busy_ = false;
};

}  // namespace glim::server
