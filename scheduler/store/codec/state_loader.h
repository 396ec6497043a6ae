// Puts stored rows together into a ClusterState. A row that cannot be read, that belongs to nothing, or whose kind this
// program does not know is an error: nothing is left out in silence.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "scheduler/core/model/cluster_state.h"
#include "scheduler/core/model/transition.h"
#include "sdk/base/result.h"

namespace glim::store {

class StateLoader {
 public:
  // In the order in which their rows are to be added.
  static std::span<const std::string_view> Kinds();
  // kFailedPrecondition, STORE_TOO_NEW: a newer scheduler wrote rows of this kind.
  static Status CheckKind(std::string_view kind);

  // `kind`: one of Kinds().
  Status Add(std::string_view kind, std::string_view key, std::string_view body);

  // `stored` are the ids last put; none is ever given out again, whatever the rows say.
  std::unique_ptr<core::ClusterState> Finish(core::PutIds stored) &&;

 private:
  template <typename Row>
  Status AddRow(std::string_view key, std::string_view body);
  template <typename Row>
  void Take(Row row);
  struct Adders;

  std::unique_ptr<core::ClusterState> state_ = std::make_unique<core::ClusterState>();
  core::Accounts accounts_;
  std::vector<core::IdentityChange> identity_;
  core::JobId last_job_;
};

}  // namespace glim::store
