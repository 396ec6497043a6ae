#include "scheduler/sim/world/world.h"

#include <algorithm>
#include <utility>

#include "scheduler/core/check/invariants.h"
#include "scheduler/core/model/policy_accounts.h"
#include "scheduler/core/model/policy_keys.h"
#include "scheduler/core/model/validate_spec.h"
#include "scheduler/sim/world/turns.h"

namespace glim::sim {
namespace {

using core::JobId;
using core::NodeId;

constexpr std::uint64_t kDrainActionsMax = 500'000;
constexpr std::uint32_t kCrowdChecked = 5'000;
constexpr std::uint64_t kCrowdCheckedEvery = 8;

// In half of the worlds nobody is taken out for what fails: all nodes stay in use.
core::LemonPolicy DrawLemons(Rng& rng) {
  core::LemonPolicy lemons;
  lemons.within = Minutes(rng.Between(2, 120));
  lemons.avoid_times = static_cast<std::uint32_t>(rng.Between(0, 3));
  lemons.large_nodes = static_cast<std::uint32_t>(rng.Between(1, 4));
  lemons.cordon_times = rng.OneIn(2) ? static_cast<std::uint32_t>(rng.Between(1, 5)) : 0;
  return lemons;
}

core::Policy MakePolicy(Rng& rng) {
  core::Policy policy;
  policy.cross_zone_nodes_min = 4;
  policy.default_save_cost = Milliseconds(rng.Between(10, 2000));
  policy.default_restore_cost = Milliseconds(rng.Between(10, 2000));
  policy.backfill_hold_after = Minutes(rng.Between(1, 20));
  policy.release_max = Seconds(20);
  policy.finished_jobs_kept = 30;
  if (rng.OneIn(2)) {
    policy.default_user_quota.nodes = {
        {core::PriorityClass::kExtremeHigh, 2}, {core::PriorityClass::kVeryHigh, 4}, {core::PriorityClass::kHigh, 6}};
  }
  if (rng.OneIn(2)) {
    policy.team_quota["t1"].nodes = {{core::PriorityClass::kVeryHigh, 3}, {core::PriorityClass::kLow, 8}};
    policy.team_user_quota["t2"].nodes = {{core::PriorityClass::kExtremeHigh, 1}, {core::PriorityClass::kNormal, 5}};
    policy.team_weight = {{"t1", 300}};
    policy.pool_quota["default"].nodes = {{core::PriorityClass::kExtremeHigh, 6}};
  }
  if (rng.OneIn(3)) policy.links = {{"z0", "z1", static_cast<std::uint32_t>(rng.Between(0, 2)), 1}};
  return policy;
}

// In some worlds each key has an amount of its own, so that a key more leaves the other keys' amounts as they were.
void DrawKeys(core::Policy& policy, std::uint64_t seed) {
  if (!HasKeysDrawn(seed)) return;
  core::DrawPolicy(policy, [&](const core::PolicyKey& key) {
    std::uint64_t of_both = seed;
    for (const char letter : std::string_view(key.name)) of_both = of_both * 131 + static_cast<std::uint8_t>(letter);
    return RngOf(of_both, Aspect::kPolicyKeys).Between(key.draw_low, key.draw_high);
  });
}

}  // namespace

World::World(WorldOptions options)
    : options_(Shaped(options)),
      rng_(options.seed),
      pools_(options.seed, options_.zones * options_.leaves_per_zone * options_.nodes_per_leaf),
      terms_(options.seed),
      trouble_rng_(RngOf(options.seed, Aspect::kTroubles)),
      version_rng_(RngOf(options.seed, Aspect::kVersions)),
      reload_rng_(RngOf(options.seed, Aspect::kReloads)),
      accounts_rng_(RngOf(options.seed, Aspect::kAccounts)),
      crowd_rng_(RngOf(options.seed, Aspect::kCrowd)),
      users_rng_(RngOf(options.seed, Aspect::kUsers)),
      operate_rng_(RngOf(options.seed, Aspect::kOperators)),
      links_rng_(RngOf(options.seed, Aspect::kLinks)),
      health_rng_(RngOf(options.seed, Aspect::kHealth)),
      measure_rng_(RngOf(options.seed, Aspect::kMeasuring)),
      reach_rng_(RngOf(options.seed, Aspect::kReach)),
      outage_rng_(RngOf(options.seed, Aspect::kOutages)),
      backup_rng_(RngOf(options.seed, Aspect::kBackups)),
      first_rng_(RngOf(options.seed, Aspect::kFirstStarts)),
      budget_rng_(RngOf(options.seed, Aspect::kBudgets)),
      uids_(options.crowd == 0 && users_rng_.OneIn(3)) {
  policy_ = MakePolicy(rng_);
  // Of its own: the faults of a seed are those that it had before.
  Rng widened(options.seed + 0x9e3779b97f4a7c15ULL);
  if (widened.OneIn(2)) policy_.starvation_bound = Minutes(widened.Between(1, 8));
  policy_.health.lemons = DrawLemons(widened);
  if (widened.OneIn(2)) policy_.min_run_max = Seconds(widened.Between(0, 60));
  DrawKeys(policy_, options.seed);
  if (options_.crowd > 0) policy_.unfinished_spec_bytes_per_user_max = policy_.unfinished_spec_bytes_max;
  PlanCrowd();
  DrawMeasuring();
  DrawOutages();
  DrawPromises();
  first_policy_ = policy_;
  truth_.CapsAre(policy_);
  report_.seed = options.seed;
  epoch_ = *store_.AcquireEpoch();
}

void World::Violation(const std::string& what) {
  report_.violations.push_back("at " + std::to_string(timeline_.now().ms) + " ms: " + what);
}

// The scheduler's door lets no other in: what came of one would be no fault of the core's.
void World::CheckSpecs(const core::SubmitJobs& submit) {
  for (const core::JobSpec& spec : submit.specs) {
    const Status status = core::ValidateSpec(spec);
    if (!status.ok()) Violation("the world submits what nobody can: " + status.field() + " " + status.message());
  }
}

void World::Post(decltype(core::Event::what) what) {
  const std::vector<JobScript> scripts = std::exchange(next_scripts_, {});
  if (const auto* submit = std::get_if<core::SubmitJobs>(&what)) CheckSpecs(*submit);
  if (down_) return;  // refused: nobody is there
  inbox_.push_back({++seq_, timeline_.now(), std::move(what)});
  submissions_in_inbox_.push_back(scripts);
  ++report_.events;
  if (drain_due_) return;
  drain_due_ = true;
  // Batches of one and batches of many.
  timeline_.After(Milliseconds(rng_.OneIn(4) ? rng_.Between(1, 60) : 0), [this] { Drain(); });
}

// A leader's clock is read once, when it begins, and runs at its own speed from then on.
TimePoint World::SchedulerNow() const {
  return timeline_.now() + clock_offset_ + Milliseconds((timeline_.now() - leader_at_).ms * drift_ / 1000);
}

Status World::Commit(const std::vector<core::Mutation>& mutations) {
  if (std::exchange(crash_before_commit_, false)) return Status(StatusCode::kUnavailable, "the scheduler was killed");
  if (options_.faults) {
    if (Status status = store_.Commit(epoch_, mutations); !status.ok()) {
      Violation("the store refused a commit: " + status.message());
      return status;
    }
  }
  for (const core::Mutation& mutation : mutations) {
    CountEnd(mutation);
    const auto* entry = std::get_if<core::HistoryEntry>(&mutation);
    if (entry) SeeLost(*entry);
    if (entry && entry->kind == core::HistoryKind::kAttemptClaimed) begun_.insert({entry->job, entry->attempt});
  }
  for (const core::Mutation& mutation : mutations) {
    SeeRemoval(mutation);
    SeeOrphansNumber(mutation);
  }
  truth_.Committed(mutations, SchedulerNow());
  notices_.Committed(mutations, timeline_.now());
  work_.Committed(mutations, policy_, timeline_.now());
  processes_.Committed(mutations);
  health_.Committed(mutations);
  return Status::Ok();
}

void World::Drain() {
  drain_due_ = false;
  if (inbox_.empty() || WaitsForStore()) return;  // empty: the scheduler it was meant for is gone
  std::vector<core::Event> batch = std::exchange(inbox_, {});
  const auto scripts = std::exchange(submissions_in_inbox_, {});
  ++report_.batches;
  TakePolicy(batch);
  last_now_ = SchedulerNow();
  for (core::Event& event : batch) event.now = last_now_;
  core::Tables before;
  if (crash_before_commit_) before = state_->tables();
  begun_.clear();
  const auto planned = PlanOf(batch);
  const core::DriveResult result = core::Drive(
      *state_, policy_, batch, [&](const std::vector<core::Mutation>& mutations) { return Commit(mutations); });
  if (!result.commit.ok()) {
    CrashScheduler(before);
    return;
  }
  // Scripts are wanted as soon as a plan has started the job: before anybody is told of it.
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (const auto* hello = std::get_if<core::NodeConnected>(&batch[i].what)) SeeNewcomer(*hello, result.replies[i]);
    SeeRefusal(batch[i], result.replies[i].status);
    health_.Answered(batch[i], result.replies[i], *state_);
    if (scripts[i].empty()) continue;
    for (std::size_t k = 0; k < result.replies[i].jobs.size(); ++k) {
      const JobId id = result.replies[i].jobs[k];
      if (truth_.Acknowledged(id)) scripts_.insert_or_assign(id, scripts[i][k]);
      ++report_.jobs;
    }
  }
  if (!planned.empty()) CheckPlans(planned, result.replies.front());
  Check(batch);
  if (result.planned) {
    last_pass_ = last_now_;
    CheckTurns(*state_, policy_, last_now_, begun_, [this](const std::string& what) { Violation(what); });
  }
  if (std::exchange(crash_after_commit_, false)) {
    const core::Tables committed = state_->tables();
    if (rng_.OneIn(2)) {
      rival_ = std::move(state_);
      rival_epoch_ = epoch_;
    }
    CrashScheduler(committed);
    return;
  }
  ++revision_;
  for (const NodeId node : result.sync) SendDesired(node);
  ArmWake(result.wake_at);
}

void World::ArmWake(TimePoint wake_at) {
  if (!wake_at) return;
  const Duration left = std::max(Milliseconds(1), wake_at - SchedulerNow());
  const TimePoint at = timeline_.now() + Milliseconds(left.ms * 1000 / (1000 + drift_) + (drift_ < 0));
  if (wake_ && at >= wake_ && wake_ > timeline_.now()) return;
  wake_ = at;
  timeline_.At(at, [this, at] {
    if (wake_ != at) return;
    wake_ = {};
    Post(core::TimePassed{});
  });
}

void World::Check(const std::vector<core::Event>& batch) {
  if (!options_.check_invariants) return;
  // Linear in the queue, and so with thousands that wait only now and then.
  if (state_->index().kept.unfinished.jobs > kCrowdChecked && report_.batches % kCrowdCheckedEvery != 0) return;
  const auto violations = core::CheckInvariants(*state_, policy_, last_now_, processes_.on_lowered());
  for (const std::string& violation : violations) Violation(violation);
  // Linear in the queue: now and then is enough to find a drift, which does not go away by itself.
  if (report_.batches % 64 == 0 && state_->RebuildIndex() != state_->index())
    Violation("the index is not what the rows say");
  truth_.CheckJobs(*state_);
  truth_.CheckLedger();
  health_.Check(*state_, policy_);
  for (const core::Event& event : batch) {
    const auto* report = std::get_if<core::NodeReported>(&event.what);
    if (!report) continue;
    truth_.CheckReleases(*state_, *report);
    if (agents_.at(report->node)->session() == report->session) unheard_.erase(report->node);
  }
  processes_.Begin();
  for (const auto& [node, agent] : agents_) {
    const std::vector<core::TaskId> running = agent->Running();
    if (!unheard_.contains(node)) truth_.CheckRunning(*state_, node, running);
    processes_.See(node, running);
  }
  processes_.End();
}

// One user's whim, and the next some time later, until the events are used up.
void World::UserActs() {
  const auto nodes = static_cast<std::uint32_t>(agents_.size());
  const auto highest = static_cast<std::int64_t>(state_->next_job_id.value);
  const JobId some(static_cast<std::uint64_t>(rng_.Between(std::max<std::int64_t>(1, highest - 10), highest)));
  const std::string user = "u" + std::to_string(rng_.Between(1, 3));
  const core::Job* job = state_->FindJob(some);
  const std::string owner = job ? job->user : user;
  const std::int64_t whim = rng_.Between(0, 19);
  if (whim == 0) {
    Post(core::CancelJob{some, owner});
  } else if (whim == 1) {
    Post(core::SuspendJob{some, owner});
  } else if (whim <= 3) {
    Post(core::ResumeJob{some, owner});
  } else {
    core::SubmitJobs submit;
    submit.user = user;
    submit.team = rng_.OneIn(4) ? "" : rng_.OneIn(2) ? "t1" : "t2";
    const std::int64_t count = rng_.OneIn(5) ? rng_.Between(2, 4) : 1;
    for (std::int64_t i = 0; i < count; ++i) {
      next_scripts_.push_back(MakeScript(rng_, nodes));
      pools_.Place(next_scripts_.back().spec);
      terms_.Widen(next_scripts_.back(), policy_);
      MaybeAddDependency(next_scripts_.back().spec);
      MaybeDelay(next_scripts_.back().spec);
      submit.specs.push_back(next_scripts_.back().spec);
    }
    Post(std::move(submit));
  }
  if (report_.events < options_.events) timeline_.After(Milliseconds(rng_.Between(1, 15'000)), [this] { UserActs(); });
}

// Some wait for one of the newest jobs, half of these whatever becomes of it; the next number is nobody's yet, and is
// refused.
void World::MaybeAddDependency(core::JobSpec& spec) {
  using core::DependencyKind;
  if (!rng_.OneIn(5)) return;
  const auto next = static_cast<std::int64_t>(state_->next_job_id.value);
  const std::int64_t other = rng_.Between(std::max<std::int64_t>(1, next - 20), next);
  constexpr DependencyKind kKinds[] = {DependencyKind::kOk, DependencyKind::kFailed, DependencyKind::kAny};
  spec.after.push_back({JobId(static_cast<std::uint64_t>(other)), kKinds[rng_.Between(0, 2)], other % 2 == 0});
}

// Users look after what waits for something that will not come.
void World::CancelHopeless() {
  const bool going_home = report_.events >= options_.events;
  std::vector<core::CancelJob> cancels;
  state_->tables().jobs.ForEach([&](JobId id, const core::Job& job) {
    if (job.state != core::JobState::kQueued) return;
    // It was submitted while somebody's mistake had put more nodes into its pool.
    const auto verdict = state_->verdicts->find(core::ShapeOf(job));
    const bool told = verdict != state_->verdicts->end() && !verdict->second.empty();
    const bool infeasible = told && verdict->second.front().kind == core::BlockerKind::kInfeasible;
    const bool closed = told && IsClosedForGood(job, verdict->second);
    if (told) report_.waits_for_uid += verdict->second.front().kind == core::BlockerKind::kUser;
    if (going_home && (infeasible || closed)) cancels.push_back({id, job.user});
    for (const core::Dependency& dependency : job.waits_for) {
      const core::Job* other = state_->FindJob(dependency.job);
      const bool over = !other || core::IsTerminal(other->state);
      if (over || (going_home && other->state == core::JobState::kHeld)) cancels.push_back({id, job.user});
    }
  });
  for (core::CancelJob& cancel : cancels) Post(std::move(cancel));
  timeline_.After(Minutes(2), [this] { CancelHopeless(); });
}

bool World::AllOver() const {
  return std::all_of(truth_.unfinished().begin(), truth_.unfinished().end(), [&](JobId id) {
    const core::Job* job = state_->FindJob(id);
    return !job || job->state == core::JobState::kHeld;
  });
}

std::string World::Unfinished() const {
  std::string text;
  for (const JobId id : truth_.unfinished()) {
    if (!state_->FindJob(id)) continue;
    const core::Job& job = *state_->FindJob(id);
    if (job.state == core::JobState::kHeld) continue;
    const core::Attempt* attempt = state_->LiveAttempt(job);
    text += "job " + std::to_string(id.value) + " " + core::ToString(job.state);
    if (attempt)
      text +=
          std::string(" (attempt ") + std::to_string(attempt->id.number) + " " + core::ToString(attempt->state) + ")";
    const auto verdict = state_->verdicts->find(core::ShapeOf(job));
    if (!attempt && verdict != state_->verdicts->end()) text += " (" + verdict->second.front().message + ")";
    text += "; ";
  }
  return text;
}

WorldReport World::Run() {
  Post(core::ChangeAccounts{core::AccountsOf(policy_), ""});
  if (auto quotas = pools_.Quotas(); !quotas.empty()) Post(core::ChangeAccounts{std::move(quotas), ""});
  RegisterUsers();
  Post(core::LeaderStarted{});
  AddNodes();
  timeline_.After(Seconds(1), [this] { UserActs(); });
  if (HasBudgets(options_.seed)) timeline_.After(Seconds(15), [this] { OperateBudgets(); });
  if (HasFirstStarts()) timeline_.After(Seconds(20), [this] { UserUpdates(); });
  timeline_.After(Minutes(2), [this] { CancelHopeless(); });
  if (options_.faults) timeline_.After(Seconds(30), [this] { FaultActs(); });
  BeginWidened();
  BeginOutages();
  BeginBackups();
  std::uint64_t actions_after = 0;
  while (report_.violations.empty() && timeline_.Step()) {
    if (report_.events < options_.events || !report_.violations.empty()) continue;
    // The users have gone home, and faults have ended: what was left must come to its end.
    if (options_.faults && !std::exchange(healing_, true)) Heal();
    if (AllOver()) break;
    if (++actions_after > kDrainActionsMax) {
      Violation("still unfinished long after the last submission: " + Unfinished());
    }
  }
  report_.virtual_ms = timeline_.now().ms;
  CountTroubles();
  return report_;
}

}  // namespace glim::sim
