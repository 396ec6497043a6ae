#include "scheduler/sim/trace/trace_world.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <limits>
#include <utility>

#include "scheduler/core/advice/what_if.h"
#include "scheduler/core/check/invariants.h"
#include "scheduler/core/model/policy_accounts.h"
#include "scheduler/core/planning/job_order.h"

namespace glim::sim {
namespace {

constexpr TimePoint kBoot{1000};  // 0 means "not yet" everywhere
constexpr TimePoint kTraceBegins{1'000'000};
constexpr Duration kNever = Hours(24 * 365 * 1000);
constexpr Duration kStuckAfter = Hours(24 * 60);  // without a node held, and jobs waiting
constexpr int kBatchesOfAMomentMax = 10'000;
constexpr std::size_t kViolationTextsMax = 10;
constexpr std::size_t kNoRow = std::numeric_limits<std::size_t>::max();

std::string ZoneName(std::uint32_t index) { return "z" + std::to_string(index + 1); }

// Nothing that a trace is not about may stand in its way: bounds are raised, and nodes need no heartbeats.
core::Policy TracePolicy(const TraceOptions& options) {
  core::Policy policy = options.policy;
  policy.node_lost_after = kNever;
  policy.oversleep_max = kNever;
  policy.outage_percent = 100;
  policy.start_max = kNever;
  policy.release_max = kNever;
  policy.unfinished_jobs_max = policy.unfinished_jobs_per_user_max = core::kUnlimited;
  policy.unfinished_spec_bytes_max = policy.unfinished_spec_bytes_per_user_max = std::int64_t{1} << 40;
  policy.finished_jobs_kept = core::kUnlimited;
  // Faults strike any node alike, and nobody gives back a node that is taken out.
  policy.health.lemons.avoid_times = policy.health.lemons.cordon_times = 0;
  if (options.planner == core::PlannerKind::kTimeSharing) return policy;
  // A baseline takes any node; as many as like may span zones.
  policy.links.clear();
  for (std::uint32_t a = 1; a <= options.zones; ++a) {
    for (std::uint32_t b = a + 1; b <= options.zones; ++b) {
      policy.links.push_back({ZoneName(a - 1), ZoneName(b - 1), core::kLinkAmountMax, core::kLinkAmountMax});
    }
  }
  return policy;
}

core::JobSpec SpecOf(const TraceJob& job, const TraceOptions& options) {
  core::JobSpec spec;
  spec.name = job.name;
  spec.nodes = job.nodes;
  // Nodes are given whole. Tiresias counts the GPUs that a job uses of them.
  spec.gpus_per_node = options.planner == core::PlannerKind::kTiresias ? job.gpus_per_node : 8;
  if (!options.cluster.empty()) {
    spec.gpus_per_node = job.gpus_asked;
    spec.pool = job.pool;
    spec.priority = job.priority;
  }
  spec.interrupt_mode = core::InterruptMode::kSignal;
  spec.workdir = "/";
  spec.run = "trace";
  spec.restart_max = 10'000;
  spec.restart_backoff = {};
  spec.time_limit = options.exact_limits ? job.duration : job.walltime;
  return spec;
}

}  // namespace

TraceWorld::TraceWorld(TraceOptions options, std::vector<TraceJob> trace)
    : options_(std::move(options)),
      trace_(std::move(trace)),
      policy_(TracePolicy(options_)),
      rng_(options_.seed),
      traced_(trace_.size()),
      row_of_job_(1, kNoRow) {
  outcome_.jobs.resize(trace_.size());
  for (std::size_t row = 0; row < trace_.size(); ++row) {
    outcome_.jobs[row].duration = trace_[row].duration;
    outcome_.jobs[row].nodes = trace_[row].nodes;
    outcome_.jobs[row].priority = trace_[row].priority;
    outcome_.jobs[row].counted = trace_[row].counted;
  }
  unfinished_ = trace_.size();
}

void TraceWorld::Violation(const std::string& what) {
  if (++outcome_.violations > kViolationTextsMax) return;
  outcome_.violation_texts.push_back("at " + std::to_string((now_ - kTraceBegins).ms) + " ms: " + what);
}

void TraceWorld::Post(decltype(core::Event::what) what, std::size_t row) {
  inbox_.push_back({++seq_, now_, std::move(what)});
  rows_in_inbox_.push_back(row);
}

void TraceWorld::After(Duration wait, Kind kind, core::AttemptId attempt, std::uint32_t node) {
  due_.push({now_ + wait, ++made_, kind, attempt, node});
}

void TraceWorld::Boot() {
  now_ = kBoot;
  std::vector<core::AccountChange> accounts = options_.quotas ? *options_.quotas : core::QuotasOf(policy_);
  for (core::AccountChange& link : core::LinksOf(policy_)) accounts.push_back(std::move(link));
  Post(core::ChangeAccounts{std::move(accounts), ""}, kNoRow);
  Post(core::LeaderStarted{}, kNoRow);
  nodes_.resize(options_.nodes);
  std::vector<std::uint32_t> of_zone(options_.zones);
  for (std::uint32_t i = 0; i < options_.nodes; ++i) {
    const auto zone = static_cast<std::uint32_t>(std::uint64_t{i} * options_.zones / options_.nodes);
    core::NodeConnected& hello = nodes_[i].hello;
    hello.session = ++session_;
    hello.name = hello.machine_id = "n" + std::to_string(i + 1);
    hello.boot_id = "boot-1";
    if (options_.cluster.empty()) {
      hello.labels.zone = ZoneName(zone);
      hello.labels.leaf = "l" + std::to_string(of_zone[zone]++ / options_.leaf_nodes + 1);
      hello.labels.gpu_count = 8;
    } else {
      const TraceNode& node = options_.cluster[i];
      hello.name = hello.machine_id = node.name;
      hello.labels.pool = node.pool;
      hello.labels.zone = node.zone;
      hello.labels.leaf = node.leaf;
      hello.labels.gpu_count = node.gpus;
    }
    hello.labels.simulated_gpus = true;
    Post(hello, kNoRow);
    Post(core::NodeReported{core::NodeId(i + 1), hello.session, true, {}}, kNoRow);
  }
  Settle();
  now_ = kTraceBegins;
  accrued_until_ = progressed_at_ = now_;
  outcome_.first_submit = now_ + trace_.front().submit;
  outcome_.last_submit = now_ + trace_.back().submit;
  if (options_.faults) After(UntilNextFault(*options_.faults, options_.nodes, rng_), Kind::kNodeFails, {}, 0);
}

void TraceWorld::Submit(std::size_t row) {
  const TraceJob& job = trace_[row];
  traced_[row].waits_since = outcome_.jobs[row].submitted = now_;
  core::SubmitJobs submit;
  submit.user = job.user;
  submit.team = job.team;
  submit.specs.push_back(SpecOf(job, options_));
  Post(std::move(submit), row);
}

TimePoint TraceWorld::NextMoment() const {
  TimePoint next = wake_;
  const auto consider = [&](TimePoint t) {
    if (!next || t < next) next = t;
  };
  if (next_row_ < trace_.size()) consider(kTraceBegins + trace_[next_row_].submit);
  if (!due_.empty()) consider(due_.top().at);
  return next;
}

void TraceWorld::ActOn(const Due& due) {
  if (due.kind == Kind::kNodeFails) return Fail(due.node);
  if (due.kind == Kind::kNodeReturns) return Return(due.node);
  const std::size_t row = RowOf(due.attempt.job);
  const Traced& traced = traced_[row];
  if (!traced.holds || traced.answered || traced.attempt != due.attempt) return;  // it was cut short before
  due.kind == Kind::kRestored ? ReportRestored(row) : ReportDone(row);
}

// Everything of this moment goes into one batch.
void TraceWorld::TakeDue() {
  for (; !due_.empty() && due_.top().at <= now_;) {
    const Due due = due_.top();
    due_.pop();
    ActOn(due);
  }
  for (; next_row_ < trace_.size() && kTraceBegins + trace_[next_row_].submit <= now_; ++next_row_) Submit(next_row_);
  if (wake_ && wake_ <= now_) Post(core::TimePassed{}, kNoRow);
}

void TraceWorld::DriveOnce() {
  const std::vector<core::Event> batch = std::exchange(inbox_, {});
  const std::vector<std::size_t> rows = std::exchange(rows_in_inbox_, {});
  changed_.clear();
  const auto begin = std::chrono::steady_clock::now();
  const core::DriveResult result = core::Drive(
      state_, policy_, batch,
      [this](const std::vector<core::Mutation>& mutations) {
        for (const core::Mutation& mutation : mutations) {
          if (const auto* row = std::get_if<std::shared_ptr<const core::Attempt>>(&mutation)) changed_.push_back(*row);
        }
        return Status::Ok();
      },
      core::PlannerOf(options_.planner));
  const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
  if (result.planned && now_ >= kTraceBegins) outcome_.pass_us.push_back(took.count());
  wake_ = result.wake_at;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (rows[i] == kNoRow) continue;
    const core::Reply& reply = result.replies[i];
    if (reply.status.ok() && reply.jobs.size() == 1) {
      row_of_job_.resize(reply.jobs[0].value + 1, kNoRow);
      row_of_job_[reply.jobs[0].value] = rows[i];
      began_to_wait_.push_back(reply.jobs[0]);
      continue;
    }
    --unfinished_;
    outcome_.jobs[rows[i]].nodes = 0;
    ++outcome_.refused;
    if (reply.status.reason() != "INFEASIBLE" && options_.cluster.empty())
      Violation("a job was refused: " + reply.status.message());
  }
  if (++outcome_.batches % options_.check_every == 0) Check();
}

// Batch after batch, until no node has anything to answer.
void TraceWorld::Settle() {
  for (int batches = 0; !inbox_.empty(); ++batches) {
    if (batches == kBatchesOfAMomentMax) return Violation("the same moment brings ever more");
    DriveOnce();
    // The newest row of each attempt, in the order of their ids; what has ended makes room for what begins.
    std::stable_sort(changed_.begin(), changed_.end(), [](const auto& a, const auto& b) { return a->id < b->id; });
    for (const bool ended : {true, false}) {
      for (std::size_t i = 0; i < changed_.size(); ++i) {
        const bool newest = i + 1 == changed_.size() || changed_[i + 1]->id != changed_[i]->id;
        if (newest && (changed_[i]->state == core::AttemptState::kEnded) == ended) See(*changed_[i]);
      }
    }
    Promise();
    if (inbox_.empty() && wake_ && wake_ <= now_) Post(core::TimePassed{}, kNoRow);
  }
}

// What `glim why` would say to those that have just begun to wait.
void TraceWorld::Promise() {
  for (const core::JobId id : std::exchange(began_to_wait_, {})) {
    const core::Job* job = state_.FindJob(id);
    const bool waits = job && job->state == core::JobState::kQueued && !job->not_before;
    const std::size_t row = RowOf(id);
    traced_[row].promised = {};
    if (!waits || options_.planner != core::PlannerKind::kTimeSharing) continue;
    traced_[row].promised = core::PromisedWait(state_, policy_, *job);
    if (!options_.estimates || !estimates_.Begins(row)) continue;
    estimates_.Asked(row, core::OutlookOf(state_, policy_, *job, now_).estimate);
  }
}

void TraceWorld::Accrue() {
  const TimePoint last = outcome_.last_submit;
  outcome_.busy_node_ms += nodes_held_ * (now_ - accrued_until_).ms;
  outcome_.busy_until_last_submit_node_ms += nodes_held_ * (std::min(now_, last) - std::min(accrued_until_, last)).ms;
  accrued_until_ = now_;
}

void TraceWorld::Check() {
  for (const std::string& violation : core::CheckInvariants(state_, policy_, now_)) Violation(violation);
  // Linear in all that has been: ever more rarely is enough to find a drift, which does not go away by itself.
  ++checks_;
  if (std::has_single_bit(checks_) || unfinished_ == 0) {
    if (state_.RebuildIndex() != state_.index()) Violation("the index is not what the rows say");
  }
  for (const SimNode& node : nodes_) {
    if (!node.down || !node.runs) continue;
    Violation("attempt " + core::ToString(node.runs) + " runs on " + node.hello.name + ", which is away");
  }
}

TraceOutcome TraceWorld::Run() {
  Boot();
  while (unfinished_ > 0 && outcome_.violations == 0) {
    const TimePoint next = NextMoment();
    if (!next || (nodes_held_ == 0 && next - std::max(progressed_at_, outcome_.last_submit) > kStuckAfter)) {
      Violation(std::to_string(unfinished_) + " jobs are unfinished, and nothing will happen");
      break;
    }
    now_ = std::max(now_, next);
    TakeDue();
    Settle();
    idle_.Look(state_, now_, outcome_.last_submit);
  }
  outcome_.end = now_;
  Accrue();
  outcome_.estimates = estimates_.Take();
  outcome_.idle_while_fit_node_ms = idle_.fit_node_ms();
  outcome_.backfill_hold_idle_node_ms = idle_.backfill_hold_node_ms();
  Check();
  return std::move(outcome_);
}

}  // namespace glim::sim
