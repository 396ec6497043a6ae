#include "scheduler/sim/world/sim_run.h"

#include <algorithm>
#include <utility>

namespace glim::sim {

using core::AgreementState;

namespace {

// What a rank may say at most (server/convert/report_convert.cc): all that would protect its job.
constexpr Duration kBoast = Hours(24);

std::int64_t BeginsFrom(core::AttemptId id, const JobScript& script, std::int64_t base_step) {
  if (script.restores_short == 0 || base_step < 0 || id.number % 2 != 0) return base_step;
  return std::max<std::int64_t>(0, base_step - script.restores_short);
}

}  // namespace

SimRun::SimRun(core::AttemptId id, const JobScript& script, std::int64_t base_step, Timeline& timeline, Rng& rng,
               Hooks hooks)
    : id_(id),
      script_(script),
      timeline_(timeline),
      rng_(rng),
      hooks_(std::move(hooks)),
      started_(BeginsFrom(id, script, base_step)),
      done_(started_),
      began_from_(started_),
      sign_(timeline.now()),
      sign_before_(sign_),
      busy_(sign_) {
  ranks_.resize(script_.spec.nodes * per_node());
  for (std::uint32_t r = 0; r < ranks_.size(); ++r) ranks_[r].seen.rank = r;
}

bool SimRun::Impolite(std::uint32_t rank) const { return rank + 1 == ranks_.size(); }

void SimRun::TaskRunning(std::uint32_t index) {
  for (std::uint32_t r = index * per_node(); r < (index + 1) * per_node(); ++r) {
    ranks_[r].seen.connected = ranks_[r].seen.greeted = true;
    if (started_ >= 0 && !StandsStill()) ranks_[r].seen.restored_step = started_;
    if (script_.boasts) ranks_[r].seen.restore_time = kBoast;
  }
  Lives();
  busy_ = sign_;
  if (++running_ < script_.spec.nodes) return;
  if (StandsStill()) return Talk();
  TryStep();
}

void SimRun::TryStep() {
  if (stepping_ || yielding_ || running_ < script_.spec.nodes || StandsStill()) return;
  if (started_ + 1 >= script_.steps) {
    for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
      if (ranks_[r].dead || ranks_[r].seen.finished) continue;
      ranks_[r].seen.finished = true;
      Changed(r);
      timeline_.After(Milliseconds(rng_.Between(1, 500)), [this, r] { Exit(r, 0); });
    }
    return;
  }
  for (const SimRank& rank : ranks_) {
    const bool may = !rank.dead && !rank.seen.leaving && !rank.stop_now && (rank.cap < 0 || started_ + 1 <= rank.cap);
    if (!may) return;
  }
  for (const SimRank& rank : ranks_) {
    if (rank.stop_step && started_ + 1 > *rank.stop_step) hooks_.violation("a step beyond S began in " + ToString(id_));
  }
  ++started_;
  stepping_ = true;
  timeline_.After(script_.step_time, [this] { StepDone(); });
}

void SimRun::StepDone() {
  stepping_ = false;
  for (const SimRank& rank : ranks_) {
    if (rank.dead) return;  // a collective that will never end
  }
  done_ = started_;
  for (SimRank& rank : ranks_) {
    rank.seen.step = done_;
    rank.seen.step_time = script_.boasts ? kBoast : script_.step_time;
  }
  Lives();
  busy_ = sign_;
  if (StandsStill()) return Talk();
  if (done_ == script_.fails_at_step) {
    Exit(0, script_.fail_code);
    return;
  }
  if (script_.save_every > 0 && done_ % script_.save_every == 0) {
    SaveAt(done_, script_.save_time);
  } else if (rng_.OneIn(8)) {
    Changed(0);  // progress reaches the scheduler now and then
  }
  if (YieldIfDue()) return;
  LeaveIfDue();
  TryStep();
}

// Whoever has done this step, or begun, stands still from then on: it answers nobody, and only a signal ends it.
bool SimRun::StandsStill() const {
  if (script_.hangs_at_step == kGoesOn) return false;
  // Its first attempt has something to be restored by the others.
  if (script_.hangs_at_step == kBeforeSteps) return id_.number > 1 && id_.number <= 1 + script_.odd_attempts;
  return id_.number <= script_.odd_attempts && done_ == script_.hangs_at_step;
}

bool SimRun::HasLeft() const {
  return std::any_of(ranks_.begin(), ranks_.end(), [](const SimRank& rank) {
    return !rank.seen.finished && (rank.seen.leaving || rank.seen.exited);
  });
}

void SimRun::Talk() {
  if (!script_.talks || ranks_[0].dead) return;
  Lives();
  timeline_.After(Seconds(3), [this] { Talk(); });
}

bool SimRun::YieldIfDue() {
  if (script_.yields_after == 0 || id_.number > script_.odd_attempts) return false;
  const bool asked = std::any_of(ranks_.begin(), ranks_.end(), [](const SimRank& r) { return r.agreement != 0; });
  if (asked || yielding_ || done_ - began_from_ < script_.yields_after) return false;
  yielding_ = true;
  if (script_.yields_saved) SaveAt(done_, script_.save_time);
  timeline_.After(script_.save_time + Milliseconds(1), [this] {
    for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
      if (ranks_[r].dead || ranks_[r].seen.leaving) continue;
      ranks_[r].seen.yielded = true;
      Leave(r);
    }
  });
  return true;
}

// It saw the flag when it looked; what was taken back by then it never saw.
void SimRun::LeaveAtOnce(std::uint32_t r, std::uint32_t agreement) {
  timeline_.After(Milliseconds(rng_.Between(50, 8000)), [this, r, agreement] {
    if (ranks_[r].withdrawn >= agreement) return;
    // The others may be steps ahead or behind: its shard is worth something where they leave at this step, too.
    const bool writes = r < shards();
    if (writes && done_ > began_from_) SaveShard(r, done_, script_.save_time);
    timeline_.After((writes ? script_.save_time : Duration{}) + Milliseconds(1), [this, r] { Leave(r); });
  });
}

void SimRun::Interrupted(std::uint32_t index, const core::Agreement& agreement) {
  if (script_.plain && agreement.state == AgreementState::kNotifying) {
    hooks_.violation("a job that has never said hello was asked by the flag: " + ToString(id_));
  }
  for (std::uint32_t r = index * per_node(); r < (index + 1) * per_node(); ++r) {
    SimRank& rank = ranks_[r];
    if (rank.dead || rank.seen.exited || rank.seen.leaving) continue;
    if (StandsStill() && agreement.state != AgreementState::kSignalled) continue;
    const Manners manners = Impolite(r) ? script_.manners : Manners::kPrompt;
    if (agreement.state == AgreementState::kSignalled) {
      if (rank.agreement == agreement.id || manners == Manners::kNever) continue;
      rank.agreement = agreement.id;
      timeline_.After(Milliseconds(rng_.Between(1, 3000)), [this, r] { Exit(r, 143); });
    } else if (agreement.state == AgreementState::kWithdrawn) {
      rank.cap = -1;
      rank.withdrawn = std::max(rank.withdrawn, agreement.id);
    } else if (script_.leaves_at_once) {
      if (std::exchange(rank.agreement, agreement.id) != agreement.id) LeaveAtOnce(r, agreement.id);
    } else if (agreement.state == AgreementState::kAgreed) {
      if (rank.stop_step && rank.agreement == agreement.id && *rank.stop_step != agreement.stop_step)
        hooks_.violation("S changed");
      if (rank.agreement == agreement.id && !rank.seen.finished && rank.cap >= 0 && agreement.stop_step < rank.cap &&
          !rank.stop_step) {
        hooks_.violation("S is before a rank's hold in " + ToString(id_));
      }
      rank.stop_step = agreement.stop_step;
      rank.cap = agreement.stop_step;
    } else if (agreement.state == AgreementState::kNoAgreement) {
      if (manners != Manners::kNever) rank.stop_now = true;
    } else if (rank.agreement != agreement.id && manners != Manners::kNever) {
      rank.agreement = agreement.id;
      const std::int64_t wait_max = manners == Manners::kLate ? 20'000 : 250;
      const std::uint32_t id = agreement.id;
      timeline_.After(Milliseconds(rng_.Between(1, wait_max)), [this, r, id] { Ack(r, id); });
      if (manners == Manners::kTwice) {
        timeline_.After(Milliseconds(rng_.Between(1, 4000)), [this, r, id] { Ack(r, id); });
      }
    }
  }
  LeaveIfDue();
  TryStep();
}

void SimRun::Ack(std::uint32_t r, std::uint32_t agreement) {
  SimRank& rank = ranks_[r];
  if (rank.dead || rank.seen.exited || rank.agreement != agreement || rank.stop_step || agreement <= rank.withdrawn)
    return;
  if (rank.seen.acked_agreement == agreement) {
    Changed(r);  // a repeat says what was said: a hold that moved could be beyond an S made from the first
    return;
  }
  const std::int64_t k = std::max<std::int64_t>(1, (250 + script_.step_time.ms - 1) / script_.step_time.ms);
  rank.seen.acked_agreement = agreement;
  rank.seen.hold = rank.cap = std::max(rank.cap, started_ + k);
  Changed(r);
}

void SimRun::SaveAt(std::int64_t step, Duration took) {
  for (std::uint32_t r = 0; r < shards(); ++r) SaveShard(r, step, took);
}

// Training goes on meanwhile.
void SimRun::SaveShard(std::uint32_t r, std::int64_t step, Duration took) {
  timeline_.After(took, [this, r, step, took] {
    SimRank& rank = ranks_[r];
    if (rank.dead || rank.seen.exited) return;
    if (script_.own_folder && !hooks_.can_save(IndexOf(r))) return;  // the write failed: no save is reported
    const Duration told = script_.boasts ? kBoast : took;
    core::SavedShard save{step, "/ckpt/" + std::to_string(step), 1000, r, shards(), told, {}};
    if (script_.own_folder) save.local = "attempt-" + std::to_string(id_.number) + "/" + std::to_string(step);
    rank.seen.saves.push_back(std::move(save));
    if (rank.seen.saves.size() > 4) rank.seen.saves.erase(rank.seen.saves.begin());
    ++written_[step];
    Changed(r);
  });
}

bool SimRun::HasSaved(std::int64_t step) const {
  const auto written = written_.find(step);
  return written != written_.end() && written->second >= shards();
}

void SimRun::LeaveIfDue() {
  if (stepping_ || yielding_ || StandsStill()) return;
  for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
    SimRank& rank = ranks_[r];
    const bool through = rank.stop_step && done_ >= *rank.stop_step;
    if (rank.dead || rank.seen.leaving || rank.seen.exited || rank.seen.finished || !(through || rank.stop_now))
      continue;
    if (rank.stop_step && done_ != *rank.stop_step && !rank.stop_now)
      hooks_.violation("a rank ran past S in " + ToString(id_));
    if (r >= shards()) {
      Leave(r);
      continue;
    }
    rank.seen.hold = done_;
    rank.cap = done_;  // it saves, and then leaves
    if (rank.agreement == 0xffffffff) continue;
    rank.agreement = 0xffffffff;
    if (script_.extends) rank.seen.extend = script_.boasts ? kBoast : script_.spec.max_grace;
    SaveShard(r, done_, script_.save_time);
    timeline_.After(script_.save_time + Milliseconds(1), [this, r] { Leave(r); });
  }
}

void SimRun::Leave(std::uint32_t r) {
  SimRank& rank = ranks_[r];
  if (rank.dead || rank.seen.leaving || rank.seen.exited) return;
  rank.seen.leaving = true;
  Changed(r);
  timeline_.After(Milliseconds(rng_.Between(1, 300)), [this, r] { Exit(r, 0); });
}

void SimRun::Exit(std::uint32_t r, std::int32_t code, const std::string& cause) {
  SimRank& rank = ranks_[r];
  if (rank.dead || rank.seen.exited) return;
  rank.seen.exited = true;
  rank.seen.exit_code = code;
  rank.seen.cause = cause;
  rank.dead = true;
  Changed(r);
}

void SimRun::LoseContact(std::uint32_t index) {
  for (std::uint32_t other = 0; other < script_.spec.nodes; ++other) {
    if (other == index) continue;
    timeline_.After(Milliseconds(rng_.Between(10, 20'000)), [this, r = other * per_node()] {
      if (running_ == script_.spec.nodes && !ranks_[r].seen.finished && !ranks_[r].seen.leaving)
        Exit(r, 1, kLostContact);
    });
  }
}

void SimRun::Killed(std::uint32_t index) {
  for (std::uint32_t r = index * per_node(); r < (index + 1) * per_node(); ++r) Exit(r, 137);
}

std::vector<core::Rank> SimRun::RanksOf(std::uint32_t index) const {
  std::vector<core::Rank> ranks;
  for (std::uint32_t r = index * per_node(); r < (index + 1) * per_node(); ++r) {
    const core::Rank& seen = ranks_[r].seen;
    if (!script_.plain) {
      ranks.push_back(seen);
      continue;
    }
    core::Rank& shown = ranks.emplace_back();  // what an agent can see of processes that say nothing
    shown.rank = seen.rank;
    shown.exited = seen.exited;
    shown.exit_code = seen.exit_code;
    shown.exited_at = seen.exited_at;
    shown.cause = seen.cause;
  }
  return ranks;
}

bool SimRun::Exited(std::uint32_t index) const {
  for (std::uint32_t r = index * per_node(); r < (index + 1) * per_node(); ++r) {
    if (!ranks_[r].seen.exited) return false;
  }
  return true;
}

std::int32_t SimRun::ExitCode(std::uint32_t index) const {
  for (std::uint32_t r = index * per_node(); r < (index + 1) * per_node(); ++r) {
    if (ranks_[r].seen.exit_code != 0) return ranks_[r].seen.exit_code;
  }
  return 0;
}

}  // namespace glim::sim
