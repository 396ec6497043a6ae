// Puts coded rows together into a ClusterState, in the order nodes, jobs, attempts, tasks. A row that cannot be read,
// or that belongs to nothing, is kDataLoss: nothing is left out in silence.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/core/model/cluster_state.h"
#include "scheduler/core/model/transition.h"
#include "sdk/base/result.h"

namespace glim::store {

class StateLoader {
 public:
  Status AddNode(core::NodeId id, std::string_view body);
  Status AddJob(core::JobId id, std::string_view body);
  Status AddAttempt(core::AttemptId id, std::string_view body);
  Status AddTask(core::TaskId id, std::string_view body);
  Status AddShare(core::ShareId id, std::string_view body);
  Status AddLifeTable(core::LifeTableId id, std::string_view body);
  Status AddAccount(const core::AccountKey& key, std::string_view body);

  Status AddReservation(std::string name, std::string_view body);
  Status AddIdentity(const core::IdentityKey& key, std::string_view body);

  // `stored` are the ids last put; none is ever given out again, whatever the rows say.
  std::unique_ptr<core::ClusterState> Finish(core::PutIds stored) &&;

 private:
  std::unique_ptr<core::ClusterState> state_ = std::make_unique<core::ClusterState>();
  core::Accounts accounts_;
  std::vector<core::IdentityChange> identity_;
  core::JobId last_job_;
  core::NodeId last_node_;
};

}  // namespace glim::store
