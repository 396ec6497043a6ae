// The words and tints of states and outcomes: one place, so that an interrupted job never looks failed. Pure.
#pragma once

#include <string>

#include "cli/text/style.h"
#include "glim/v1/job.pb.h"

namespace glim::cli {

// True for succeeded, failed, cancelled: nothing more will come.
bool HasEnded(const glim::v1::Job& job);

// Green for running and succeeded, red for failed alone; interrupted is yellow at most.
Style StateStyle(const std::string& state);

// "interrupted, saved", "interrupted, killed before it saved", "failed", "succeeded", or the state of a living attempt.
std::string AttemptVerdict(const glim::v1::Attempt& attempt);
Style AttemptStyle(const glim::v1::Attempt& attempt);

// It runs, and the scheduler has seen none of its GPUs busy for long.
bool LeavesGpusIdle(const glim::v1::Attempt& attempt);

// One line on how the job stands: the first blocker, where it will go on, its message.
std::string JobNote(const glim::v1::Job& job);

// It went on from a step, told one or saved one: else nobody knows what it lost.
bool ReportsSteps(const glim::v1::Attempt& attempt);

// "steps 501-1200", "no step".
std::string StepRange(const glim::v1::Attempt& attempt);

// "snapshot 3f2a9c (git 1a2b3c4-dirty), 1.2 MiB"
std::string SnapshotText(const glim::v1::Snapshot& snapshot);

// "job 12 b-high (user kim)"; "" without a preemptor.
std::string PreemptorText(const glim::v1::Agreement& agreement);

}  // namespace glim::cli
