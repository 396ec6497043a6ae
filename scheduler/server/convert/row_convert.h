// Rows of a snapshot as the messages that users see, receipts included. Pure: `now` is handed in.
#pragma once

#include <vector>

#include "glim/v1/job.pb.h"
#include "glim/v1/node.pb.h"
#include "scheduler/core/model/rows.h"
#include "scheduler/server/loop/snapshot.h"

namespace glim::server {

void BlockerToProto(const core::Blocker& blocker, v1::Blocker* out);
enum class AttemptsShown { kNewest, kAll };

void JobToProto(const Snapshot& snapshot, const core::Job& job, AttemptsShown shown, TimePoint now, v1::Job* out);
void AttemptToProto(const Snapshot& snapshot, const core::Attempt& attempt, TimePoint now, v1::Attempt* out);
// kRow leaves out the inventory and the events of health: a list of a thousand nodes has no room for them.
enum class NodeShown { kRow, kWhole };

void NodeToProto(const Snapshot& snapshot, const core::Node& node, NodeShown shown, v1::Node* out);

// Why a job does not run: never empty for a queued job and for one that waits for nodes it has claimed, else empty.
std::vector<core::Blocker> BlockersOf(const Snapshot& snapshot, const core::Job& job, TimePoint now);
// The kind of the first of them, without its words: cheap enough for all of a queue. Of a job that has some.
core::BlockerKind MainReasonOf(const Snapshot& snapshot, const core::Job& job, TimePoint now);

// The receipt of one agreement: each phase from the end of the one before it; -1 where it did not happen (yet).
void AgreementTimesToProto(const core::Agreement& agreement, v1::AgreementTimes* out);
// The receipt of a start: the wait, the slowest victim's phases, and the start itself.
void StartTimesToProto(const Snapshot& snapshot, const core::Attempt& attempt, v1::StartTimes* out);

}  // namespace glim::server
