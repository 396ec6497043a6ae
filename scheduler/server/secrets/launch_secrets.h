// The last thing that is done to a desired set before it is sent: its launches get the values of the secrets that their
// jobs name, the jobs' tokens, and the attempts' tokens for copies in other nodes' memory; its tasks get the secrets of
// their attempts and receipts. Until here they are sealed rows; no snapshot, history or log has them.
//
// A launch whose secret has been removed meanwhile is taken out, and fails its job. One whose job's token has no row
// yet is taken out, too, and comes with the next set: its row must be there before the token is. So is one before the
// cluster has its signing key: of an attempt all tasks have its secret, or none. None waits for its token for copies,
// and none fails for the want of it, nor for a signing key that does not open.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "glim/v1/agent_api.pb.h"
#include "scheduler/core/model/event.h"
#include "scheduler/identity/cluster_authority.h"
#include "scheduler/identity/key_file.h"
#include "scheduler/server/loop/audit_chain.h"
#include "scheduler/server/loop/snapshot.h"
#include "sdk/pki/random_source.h"

namespace glim::server {

// What opens the secrets. Any thread; one for the server.
struct SecretSource {
  std::optional<identity::ClusterKey> key;  // none: without identity, and there are neither secrets nor tokens
  pki::RandomSource random;
  std::function<std::string()> server;  // HOST:PORT of the users' port, for tasks with a token; may be empty
  // With the key; may give null. Without, no attempt gets a token for copies.
  std::function<std::shared_ptr<const identity::ClusterAuthority>()> authority;
  std::string cluster;
  // Whether the log has it that the signing key does not open.
  std::shared_ptr<std::atomic<bool>> signing_fault_told = std::make_shared<std::atomic<bool>>(false);
};

struct LaunchSecrets {
  std::vector<core::ObservedTask> failed;  // as their agent would report it: a start that failed, by the job's fault
  // To be applied first; then the set is to be made again. No changes: there is nothing to wait for.
  core::ChangeIdentity wanted;
  std::vector<core::TaskId> waiting;  // for that
  AuditNote note;                     // of that
};

// `set` is BuildDesiredState's of this snapshot.
LaunchSecrets AddSecrets(const Snapshot& snapshot, const SecretSource& source, TimePoint now, v1::DesiredState* set);

// Marks which of these tasks the scheduler has launched on that node, by the receipts in its agent's report, whose
// tasks they are in the same order. Without identity nobody has receipts, and everybody is believed.
void CheckReceipts(const SecretSource& source, const std::string& node, const v1::NodeReport& report,
                   std::vector<core::ObservedTask>* tasks);
// The highest job of which the node shows that it was given something; without identity, of which it says so.
core::JobId HighestLaunched(const SecretSource& source, const v1::Hello& hello);

// What an agent with a replica service is told in its Welcome: whose tokens count. Made of what ReplicaWord says, so
// that another word is a reason to tell it anew.
void TellReplicaKeys(const Snapshot& snapshot, const SecretSource& source, v1::Welcome* welcome);
std::string ReplicaWord(const Snapshot& snapshot);
// Makes the cluster's signing key, where there is none yet and may be one.
std::optional<core::ChangeIdentity> WantedSigningKey(const Snapshot& snapshot, const SecretSource& source);

// Of a launch that did not get what it needs.
core::ObservedTask FailedLaunch(core::TaskId task, const std::string& message);

}  // namespace glim::server
