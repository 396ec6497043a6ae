// Where a job's saves lie, and whether they can be had.
//
// With a checkpoint.dir of its own, or a cluster that has a checkpoint root, every node sees a job's saves and nothing
// of this file applies. Otherwise a save lies in the own checkpoint folder of the node that wrote it
// (Checkpoint::parts), and of those to which agents have copied it (Checkpoint::copies). A job then comes back where
// its save is, or the agents copy the save to where it comes back, or it waits until a node is heard again; it never
// starts without.
//
// Nor does it start while an attempt of it runs that the store does not know (lifecycle/orphans.h).
//
//   queued --- every holder silent ---------> waits_for_save = that node --- heard again ---> queued
//     |                                             |
//     |                                             +--- lost ---> if_unreachable: wait: goes on waiting
//     +--- started: BaseOf                                         if_unreachable: older: queued; BaseOf gives the
//                                                                  newest save that can be had, and the job says
//                                                                  what that cost
#pragma once

#include <string>
#include <vector>

#include "scheduler/core/model/cluster_state.h"

namespace glim::core {

// Every node sees it, or there is none.
bool IsShared(const Checkpoint& save);
// The nodes that have it whole, ascending.
std::vector<NodeId> HoldersOf(const Checkpoint& save);
bool HasWhole(const Checkpoint& save, NodeId node);

enum class Reach {
  kNow,     // some agent that is heard can give it
  kSilent,  // a node that has it is silent, and may be heard again in a moment
  kLost,    // every node that has it is lost
};
struct SaveReach {
  Reach reach = Reach::kNow;
  NodeId node;  // the one that it waits for; none for kNow, and of one whose nodes were all removed
};
// Pure.
SaveReach ReachOf(const ClusterState& state, const Checkpoint& save);

// Whether neighbours that can be heard may hold a copy of it in memory (replica_placement.h). After so many restores in
// a row that failed, they do not.
inline constexpr std::uint32_t kMemoryTriesMax = 3;
bool MayBeInMemory(const ClusterState& state, const Job& job);

// What an attempt that starts now goes on from: the newest save, unless it is lost and its spec does not wait for it;
// then the newest older one that is not.
Checkpoint BaseOf(const ClusterState& state, const Job& job);

// A node that is not lost, and runs an attempt of the job that the store does not know; none: no node does.
NodeId OrphanOf(const ClusterState& state, JobId job);

// Why it waits. Of a job with waits_for_save.
Blocker SaveBlocker(const Tables& tables, const Job& job);

// For people: where its saves lie and what that means when the job moves. `spec` and `root` of a job, or of one to be.
std::string SavesInWords(const JobSpec& spec, const std::string& root);
// The same of a job that is there, with its newest save.
std::string SavesInWords(const Tables& tables, const Job& job);

// "n1, n2 and 3 more"; "step 7", "the beginning".
std::string NamesOfNodes(const Tables& tables, const std::vector<NodeId>& nodes);
std::string StepOf(const Checkpoint& save);

}  // namespace glim::core
