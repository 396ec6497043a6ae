// Pools, zones and links as operators ask for them and are shown them.
#pragma once

#include "glim/v1/layout_api.pb.h"
#include "scheduler/core/model/accounts.h"
#include "scheduler/core/model/cluster_state.h"
#include "sdk/base/result.h"

namespace glim::server {

// Words are looked at here, names and amounts by the core. A refusal's field begins with the row's place:
// "changes[2].class".
Result<core::AccountChange> RowChangeFromProto(const v1::RowChange& change);

// With the nodes that are in each pool and zone, and the jobs that cross each link. Linear in the nodes and in the
// attempts that have not ended.
void LayoutToProto(const core::Tables& tables, v1::ListLayoutResponse* out);

}  // namespace glim::server
