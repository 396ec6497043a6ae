// Lemons: nodes in which jobs fail again and again, each time by something that takes no node out for good.
//
//            avoid_times                          cordon_times
//   reliable ------------> a lemon: left out for ------------------> cordoned by health (lemon_cordon.h)
//      ^                   large jobs while others fit                      |
//      +--- failures are older than `within` ---+                           |
//      +------------- an operator gives the node back: they count anew -----+
//
// A failure is an attempt that ended by the node's fault, once an attempt and node: a finding of its health checks
// stopped it, or explains why a rank failed; the node was lost alone, a task on it was lost, or GPUs are missing there;
// it stood still on few nodes. That a job stood still counts once of each user, from the second user on, and no more
// once the node was measured and found good. Not counted:
//
//   - a start that failed: nobody knows whether the node or the job is to blame, and the node is suspect for a while
//   - the loss of a node that somebody has taken out, who may start it anew
//   - what is lost in an outage
//
// A loss that no finding explains counts for the lemon alone, not for the cordon: most such nodes started anew.
#pragma once

#include <string>
#include <vector>

#include "scheduler/core/lifecycle/changes.h"

namespace glim::core {

// The job that a fault of the node ends now: it has begun there, and nothing has stopped it yet. None: nobody's.
JobId FailsWith(const Changes& changes, NodeId node);

// `job`, none: nothing happens, ended by the node's fault. `device` at fault; empty: the node.
void CountFailure(Changes& changes, NodeId node, JobId job, Outcome cause, const std::string& device);
// The same of a node, or a task on it, that was lost.
void CountLoss(Changes& changes, NodeId node, JobId job);
// An attempt on these nodes stood still, and was stopped for that.
void CountHang(Changes& changes, const std::vector<NodeId>& nodes, JobId job);

// It was measured and found good: the jobs that stood still there did so by themselves.
void ForgetHangs(Changes& changes, NodeId node);
// An operator has ended the node's cordon: where the failures were enough to take it out they count anew.
void GiveBackLemon(Changes& changes, NodeId node);
// An operator returns the node: whatever was counted.
void ForgetFailures(Changes& changes, NodeId node);

// The policy may be another one.
void ReviewLemons(Changes& changes);
// Those whose failures are too old by now. Part of ApplyTimePassed.
void EndLemons(Changes& changes);
// When that is next the case; 0: there are no lemons.
TimePoint NextLemonEnd(const ClusterState& state, const Policy& policy);

// The failures that count now are cordon_times or more.
bool IsToBeTakenOut(const Node& node, const LemonPolicy& policy, TimePoint now);

inline constexpr char kFailedByIt[] = "jobs failed by it ";
// "jobs failed by it 2 times within 30 d: gpu_failure of 0000:3b:00.0 (job 12), network (job 31)": the newest few.
std::string FailuresInWords(const Node& node, const LemonPolicy& policy, TimePoint now);

}  // namespace glim::core
