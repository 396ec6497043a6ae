// What is stored of the past as the messages that users see. Pure.
#pragma once

#include "glim/v1/client_api.pb.h"
#include "scheduler/server/loop/snapshot.h"
#include "scheduler/store/contract/store.h"

namespace glim::server {

// Nodes go by the names that they have in the snapshot.
void EventToProto(const Snapshot& snapshot, const store::Store::StoredHistory& stored, v1::Event* out);
void EndedJobToProto(const store::EndedJob& job, v1::EndedJob* out);

}  // namespace glim::server
