// ExplainJob and PlanJob: questions that are answered by trying (core/what_if.h), on a copy of a snapshot. Any thread;
// takes up to some tens of planning passes.
#pragma once

#include "glim/v1/client_api.pb.h"
#include "scheduler/core/advice/what_if.h"
#include "scheduler/core/model/event.h"
#include "scheduler/server/loop/snapshot.h"
#include "sdk/base/status.h"

namespace glim::server {

inline constexpr int kSpecsPlannedMax = 100;

void VictimToProto(const core::ClusterState& state, const core::VictimCost& cost, v1::Victim* out);

// What it would cost to interrupt this live attempt now. Looks at the attempt's own rows alone: where a job has shown
// nothing of its saves yet, the policy's numbers stand for its pool's.
v1::Victim VictimOf(const Snapshot& snapshot, const core::Attempt& attempt, TimePoint now);

// kNotFound for a job that the snapshot does not have.
Status ExplainJob(const Snapshot& snapshot, const v1::ExplainJobRequest& request, TimePoint now,
                  v1::ExplainJobResponse* response);

// `event` is what Submit would post: its specs are valid. Refuses what Submit would refuse of them.
Status PlanJobs(const Snapshot& snapshot, const core::SubmitJobs& event, TimePoint now, v1::PlanJobResponse* response);

}  // namespace glim::server
