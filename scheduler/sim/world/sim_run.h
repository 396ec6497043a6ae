// One attempt's gang at work, over all its nodes: the training loop and the ranks' half of the interrupt protocol.
//
// Ranks move in lockstep, as collectives make them: a step begins when every rank may begin it. A rank that has
// acknowledged an agreement begins none beyond its hold until it knows the stop step S. The run checks, as a rank would
// suffer it: S never changes, no step beyond S begins, and every rank runs through S.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/core/model/rows.h"
#include "scheduler/sim/world/timeline.h"
#include "scheduler/sim/world/workload.h"
#include "sdk/base/rng.h"

namespace glim::sim {

// The last words of a rank that lost contact with another one.
inline constexpr char kLostContact[] = "RuntimeError: Connection reset by peer";

class SimRun {
 public:
  struct Hooks {
    std::function<void(std::uint32_t index)> changed;  // something to report for that task
    std::function<void(const std::string&)> violation;
    std::function<bool(std::uint32_t index)> can_save;  // its node's own folder takes what that task saves
  };

  SimRun(core::AttemptId id, const JobScript& script, std::int64_t base_step, Timeline& timeline, Rng& rng,
         Hooks hooks);

  // From a node's agent.
  void TaskRunning(std::uint32_t index);
  void Interrupted(std::uint32_t index, const core::Agreement& agreement);
  // It was started before, in a life of the store that was taken back: an agent may still tell of that one's saves.
  void KeepSavesOf(const SimRun& before) { written_ = before.written_; }
  // Nothing passes between that task's node and the others': a rank of each of those fails by it before long.
  void LoseContact(std::uint32_t index);
  // The processes of that task are gone: its ranks are dead, and the others hang in their next step.
  void Killed(std::uint32_t index);

  std::vector<core::Rank> RanksOf(std::uint32_t index) const;
  const JobScript& script() const { return script_; }
  std::int64_t steps() const { return script_.steps; }
  std::int64_t done() const { return done_; }              // the last step complete
  std::int64_t began_from() const { return began_from_; }  // the step before its first one
  bool HasDoneAll() const { return done_ + 1 >= script_.steps; }
  // Every shard of a save of that step was written.
  bool HasSaved(std::int64_t step) const;
  bool HasLeft() const;                          // a rank of it has, before the work was done
  TimePoint last_sign() const { return sign_; }  // when somebody could last see that it lives
  TimePoint sign_before() const { return sign_before_; }
  TimePoint last_busy() const { return busy_; }  // likewise, that it uses its GPUs
  bool Exited(std::uint32_t index) const;
  std::int32_t ExitCode(std::uint32_t index) const;

 private:
  struct SimRank {
    core::Rank seen;              // what its agent knows
    std::uint32_t agreement = 0;  // acknowledged, or being so
    std::uint32_t withdrawn =
        0;                  // the newest agreement that was: a late acknowledgement of it would hold the rank for ever
    std::int64_t cap = -1;  // no step beyond it is begun; -1: free
    std::optional<std::int64_t> stop_step;
    bool stop_now = false;
    bool dead = false;
  };

  std::uint32_t per_node() const { return script_.spec.ranks_per_node(); }
  std::uint32_t IndexOf(std::uint32_t rank) const { return rank / per_node(); }
  bool Impolite(std::uint32_t rank) const;
  void TryStep();
  void StepDone();
  void Ack(std::uint32_t rank, std::uint32_t agreement);
  std::uint32_t shards() const { return script_.sharded ? static_cast<std::uint32_t>(ranks_.size()) : 1; }
  void SaveAt(std::int64_t step, Duration took);
  void SaveShard(std::uint32_t rank, std::int64_t step, Duration took);
  void LeaveIfDue();
  void Leave(std::uint32_t rank);
  void Exit(std::uint32_t rank, std::int32_t code, const std::string& cause = "");
  void LeaveAtOnce(std::uint32_t rank, std::uint32_t agreement);
  bool YieldIfDue();
  bool StandsStill() const;
  void Talk();
  void Lives() {
    if (sign_ != timeline_.now()) sign_before_ = std::exchange(sign_, timeline_.now());
  }
  void Changed(std::uint32_t rank) {
    Lives();
    hooks_.changed(IndexOf(rank));
  }

  const core::AttemptId id_;
  const JobScript script_;
  Timeline& timeline_;
  Rng& rng_;
  const Hooks hooks_;
  std::vector<SimRank> ranks_;
  std::uint32_t running_ = 0;
  std::int64_t started_;  // the last step begun
  std::int64_t done_;     // the last step complete
  bool stepping_ = false;
  bool yielding_ = false;
  const std::int64_t began_from_;
  std::map<std::int64_t, std::uint32_t> written_;  // shards of each save
  TimePoint sign_, sign_before_, busy_;
};

}  // namespace glim::sim
