// ListNodes over a snapshot: the filters, the order, the pages. Pure.
#pragma once

#include "glim/v1/client_api.pb.h"
#include "scheduler/server/loop/snapshot.h"
#include "sdk/base/result.h"

namespace glim::server {

// By name. A page token is a name, so that pages stay good while nodes come and go. Private parts are the caller's to
// leave out.
Result<v1::ListNodesResponse> ListNodes(const Snapshot& snapshot, const v1::ListNodesRequest& request);

}  // namespace glim::server
