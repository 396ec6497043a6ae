// What a commit did to attempts, as figures: waits that ended, interrupts and what they cost, what was lost. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "scheduler/core/model/cluster_state.h"
#include "scheduler/core/model/policy.h"
#include "scheduler/core/model/transition.h"

namespace glim::server {

// Why an attempt was asked to leave; kOperator: a drain or a move of theirs; kYield: it left by itself.
enum class InterruptCause : std::uint8_t { kPreempt, kMove, kOperator, kSuspend, kTimeLimit, kYield };
const char* ToString(InterruptCause cause);

// Milliseconds of the phases of an interrupt, each from the end of the one before it; -1: it did not come to that.
enum class InterruptPhase : std::uint8_t { kNotify, kAgree, kSave, kLeave, kRelease };
inline constexpr std::size_t kInterruptPhases = 5;
const char* ToString(InterruptPhase phase);

// An attempt has all its nodes.
struct Started {
  core::PriorityClass charged = core::PriorityClass::kNormal;
  std::size_t nodes = 1;
  Duration waited;
  bool wait_kept = true;  // within the policy's starvation_bound
};

struct Interrupted {
  InterruptCause cause = InterruptCause::kPreempt;
  core::SaveResult left = core::SaveResult::kNone;
  std::array<std::int64_t, kInterruptPhases> phases_ms{-1, -1, -1, -1, -1};
  Duration took;                  // from the request to the release of the last node
  std::int64_t leave_gpu_ms = 0;  // its GPUs, for so long
  bool asked = false;             // else it left by itself, and none of the above is told
  bool grace_kept = true;         // it was not stopped at its deadline
  bool release_kept = true;       // its last node was given on within kill_after_term + release_max of its deadline
};

struct Ended {
  core::Outcome outcome = core::Outcome::kNone;
  std::optional<Interrupted> interrupt;
  std::int64_t lost_gpu_ms = 0;  // of what was productive
};

struct CommitFigures {
  std::vector<Started> started;
  std::vector<Duration> starting;  // of attempts whose every task now runs: since they had all nodes
  std::vector<Ended> ended;
};

// `before`: the rows as of the last commit.
CommitFigures FiguresOf(const core::Tables& before, const std::vector<core::Mutation>& mutations,
                        const core::Policy& policy);

// The word that a lost GPU-second is counted under.
const char* LossCause(const Ended& ended);

}  // namespace glim::server
