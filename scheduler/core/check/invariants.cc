#include "scheduler/core/check/invariants.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "scheduler/core/check/quota_check.h"
#include "scheduler/core/check/reservation_check.h"
#include "scheduler/core/lifecycle/dependencies.h"
#include "scheduler/core/lifecycle/ledger.h"
#include "scheduler/core/model/account_access.h"
#include "scheduler/core/model/attempt_tasks.h"
#include "scheduler/core/model/budget_use.h"
#include "scheduler/core/model/feasibility.h"
#include "scheduler/core/model/health_rules.h"
#include "scheduler/core/model/node_users.h"
#include "scheduler/core/model/save_reach.h"
#include "scheduler/core/model/task_user.h"
#include "scheduler/core/model/time_limit.h"
#include "scheduler/core/model/zone_link.h"

namespace glim::core {
namespace {

class Checker {
 public:
  Checker(const ClusterState& state, const Policy& policy, TimePoint now, const std::set<AttemptId>& stay)
      : state_(state), policy_(policy), now_(now), stay_(stay) {}

  std::vector<std::string> Run() {
    over_budget_ = TeamsOverBudget(state_.tables(), now_);
    state_.tables().nodes.ForEach([&](NodeId, const Node& node) { CheckNode(node); });
    state_.tables().attempts.ForEach([&](const AttemptId&, const Attempt& attempt) { CheckAttempt(attempt); });
    state_.tables().jobs.ForEach([&](JobId, const Job& job) { CheckJob(job); });
    state_.tables().identity->tokens.ForEach([&](const std::string&, const TokenRow& row) { CheckToken(row); });
    for (std::string& violation : CheckQuotas(state_)) violations_.push_back(std::move(violation));
    for (std::string& violation : CheckReservations(state_, now_)) violations_.push_back(std::move(violation));
    CheckLinks();
    return std::move(violations_);
  }

 private:
  static std::string Text(const std::string& text) { return text; }
  static std::string Text(const Node* node) { return "node " + node->name; }
  static std::string Text(const Attempt* attempt) { return "attempt " + ToString(attempt->id); }
  static std::string Text(const Job* job) { return "job " + std::to_string(job->id.value); }

  // The sentence is put together when it is needed: most of the time all is well.
  template <typename... Parts>
  void Expect(bool holds, const Parts&... parts) {
    if (!holds) violations_.push_back((Text(parts) + ...));
  }

  static bool Names(const Attempt& attempt, NodeId node) {
    return std::find(attempt.nodes.begin(), attempt.nodes.end(), node) != attempt.nodes.end();
  }

  void CheckNode(const Node& node) {
    const Node* who = &node;
    if (node.holder) {
      const Attempt* holder = state_.FindAttempt(node.holder);
      Expect(holder && holder->state != AttemptState::kEnded, who, " is held by an attempt that is over");
      Expect(holder && Names(*holder, node.id), who, " is held by an attempt that does not name it");
    }
    if (node.claim) {
      const Attempt* claimant = state_.FindAttempt(node.claim);
      const bool claims = claimant && claimant->state == AttemptState::kClaimed;
      Expect(claims, who, " is claimed by an attempt that is not claimed");
      Expect(claimant && Names(*claimant, node.id), who, " is claimed by an attempt that does not name it");
      Expect(static_cast<bool>(node.holder), who, " has a claim and no holder");
      Expect(node.claim != node.holder, who, " is claimed by its holder");
      const Attempt* holder = state_.FindAttempt(node.holder);
      const bool leaves = !holder || holder->stop != StopCause::kNone || holder->open_agreement();
      Expect(leaves, who, " is claimed, and its holder stays");
    }
    if (node.cordon) CheckCordon(node);
    Expect(!node.lemon || !node.failures.empty(), who, " is unreliable, and has failed no job");
    if (const HealthCondition* condition = KeptAwayBy(node)) CheckKeptAway(node, *condition);
    CheckMeasured(node);
    const std::int64_t booked = std::accumulate(node.ledger.begin(), node.ledger.end(), std::int64_t{0}) +
                                (now_ - node.use_since).ms * node.labels.gpu_count;
    Expect(booked == RegisteredGpuMs(node, now_), who, ": the ledger does not sum to the registered GPU-time");
    Expect(UseOf(state_, node) == node.use, who, ": the ledger books another use than the node's");
    for (const std::int64_t gpu_ms : node.ledger) Expect(gpu_ms >= 0, who, ": a negative entry in the ledger");
  }

  // Who was there before it may still be there.
  void CheckCordon(const Node& node) {
    const Node* who = &node;
    Expect(!node.claim, who, ": somebody waits for a cordoned node");
    const Attempt* holder = state_.FindAttempt(node.holder);
    Expect(!holder || holder->state != AttemptState::kClaimed, who, ": somebody waits for a cordoned node");
    Expect(!holder || holder->claimed_at <= node.cordon->since, who, ": an attempt began on a cordoned node");
    const bool leaves = !holder || holder->stop != StopCause::kNone || holder->open_agreement();
    Expect(!node.cordon->drain || leaves, who, " is drained, and who is there stays");
    Expect(!node.cordon->drained || !holder, who, " counts as drained, and somebody is there");
    Expect(node.cordon->drain || (!node.cordon->drained && !node.cordon->deadline), who,
           " is not drained, and has a drain's end");
  }

  void CheckKeptAway(const Node& node, const HealthCondition& condition) {
    const Node* who = &node;
    const Attempt* holder = state_.FindAttempt(node.holder);
    Expect(!node.claim && (!holder || holder->state != AttemptState::kClaimed), who,
           ": somebody waits for an unhealthy node");
    Expect(!holder || holder->claimed_at <= condition.since, who, ": an attempt began on an unhealthy node");
  }

  void CheckMeasured(const Node& node) {
    const Node* who = &node;
    const Job* measuring = node.validation.job ? state_.FindJob(node.validation.job) : nullptr;
    const bool lives = measuring && measuring->validates == node.id && !IsTerminal(measuring->state);
    Expect(!node.validation.job || lives, who, " is measured by a job that is over, or measures another");
    if (!WaitsToBeMeasured(node)) return;
    const Attempt* holder = state_.FindAttempt(node.holder);
    const bool may = !holder || holder->id.job == node.validation.job || holder->claimed_at <= node.validation.since;
    Expect(may, who, ": an attempt began on a node that waits to be measured");
    Expect(!node.claim, who, ": somebody waits for a node that waits to be measured");
  }

  void CheckAttempt(const Attempt& attempt) {
    const Attempt* who = &attempt;
    const Job* job = state_.FindJob(attempt.id.job);
    Expect(job != nullptr, who, " has no job");
    CheckAgreements(attempt);
    const bool earlier = attempt.base.step < 0 || attempt.base.attempt < attempt.id.number;
    Expect(earlier, who, " goes on from a save that is not an earlier attempt's");
    if (!job || attempt.state == AttemptState::kEnded) return;
    Expect(attempt.id.number == job->attempts, who, " lives, and is not its job's newest");
    Expect(attempt.nodes.size() == job->spec->nodes, who, " is not a whole gang");
    Expect(attempt.zones.size() <= 2, who, " spans more than two zones");
    CheckReplicas(attempt);
    if (attempt.claimed_at == now_ && over_budget_.contains(job->team)) {
      Expect(state_.FindBudget(job->team)->made_at >= now_, who, " was started, and its team has used up its budget");
    }
    Expect(attempt.base.step <= job->durable.step, who, " goes on from a save that its job does not have");
    if (attempt.state == AttemptState::kClaimed) {
      CheckClaimed(attempt);
      return;
    }
    const auto tasks = TasksOf(state_, attempt.id);
    Expect(tasks.size() == attempt.nodes.size(), who, " has started without a task on each node");
    for (const Task* task : tasks) {
      const bool holds = state_.FindNode(task->node)->holder == attempt.id;
      Expect(holds == (task->phase != TaskPhase::kReleased), who, ": a task and the holder of its node disagree");
    }
  }

  void CheckToken(const TokenRow& token) {
    if (token.origin == TokenOrigin::kJob) {
      const Attempt* attempt = state_.FindAttempt(token.attempt);
      Expect(attempt && attempt->state != AttemptState::kEnded, "token ", token.id, " outlives its attempt");
    } else {
      Expect(state_.accounts().users.contains(token.user), "token ", token.id, " is of a user who is no more");
    }
    const bool counts = !token.expires_at || token.expires_at > now_;
    const bool opened = token.session_of.empty() || state_.identity().tokens.Find(token.session_of) != nullptr;
    Expect(!counts || opened, "token ", token.id, " is a session of a token that is no more");
  }

  void CheckReplicas(const Attempt& attempt) {
    const Attempt* who = &attempt;
    const bool whole = attempt.replicas.empty() || attempt.replicas.size() == attempt.nodes.size();
    Expect(whole, who, " does not have a place for each node's copies");
    for (std::size_t rank = 0; whole && rank < attempt.replicas.size(); ++rank) {
      if (!attempt.replicas[rank]) continue;
      const Node* neighbour = state_.FindNode(attempt.replicas[rank]);
      const Node* own = state_.FindNode(attempt.nodes[rank]);
      Expect(neighbour && neighbour != own, who, " keeps a copy where the shards are");
      Expect(neighbour && neighbour->labels.zone == own->labels.zone, who, " keeps a copy in another zone");
    }
  }

  void CheckAgreements(const Attempt& attempt) {
    const Attempt* who = &attempt;
    std::uint32_t last = 0;
    Expect(attempt.agreements.size() <= kAgreementsKept, who, " keeps all of its agreements");
    for (std::size_t i = 0; i < attempt.agreements.size(); ++i) {
      const Agreement& agreement = attempt.agreements[i];
      const bool over = agreement.state == AgreementState::kWithdrawn || agreement.state == AgreementState::kEnded;
      Expect(agreement.id > std::exchange(last, agreement.id), who, ": its agreements' numbers do not grow");
      Expect(over || i + 1 == attempt.agreements.size(), who,
             " was interrupted twice: an agreement is open before its last");
      Expect(over || attempt.state != AttemptState::kEnded, who, " is over, and its agreement is open");
      Expect(agreement.state != AgreementState::kAgreed || agreement.agreed_at, who, " has agreed at no time");
    }
  }

  void CheckClaimed(const Attempt& attempt) {
    const Attempt* who = &attempt;
    const Job& job = *state_.FindJob(attempt.id.job);
    Expect(BarOf(state_.accounts(), policy_, job.user, job.team, job.spec->pool) == Bar::kNone, who,
           " waits for nodes that its user or team may not have");
    std::uint32_t held = 0;
    for (const NodeId id : attempt.nodes) {
      const Node& node = *state_.FindNode(id);
      if (node.holder == attempt.id) ++held;
      Expect(node.holder == attempt.id || node.claim == attempt.id, who, " neither holds nor claims ", &node);
      Expect(Takes(RuleOf(node), UidOf(state_.accounts(), job.user)), who, " waits for ", &node,
             ", which runs no job of its user");
    }
    Expect(held == attempt.nodes_held, who, " miscounts the nodes that it holds");
    const bool whole = held == attempt.nodes.size();
    Expect(!whole || WaitsForItsLink(attempt), who, " holds all its nodes and has not started");
  }

  void CheckJob(const Job& job) {
    const Job* who = &job;
    const Attempt* live = state_.LiveAttempt(job);
    const bool waits = job.state == JobState::kQueued || job.state == JobState::kHeld || IsTerminal(job.state);
    Expect(waits == (live == nullptr), who, " is ", ToString(job.state), live ? " with" : " without",
           " a live attempt");
    const bool has_nodes = live && live->state != AttemptState::kClaimed;
    Expect(job.state != JobState::kRunning || has_nodes, who, " runs without nodes");
    if (job.state == JobState::kQueued && !state_.dirty && !job.not_before && job.waits_for.empty() &&
        !job.waits_for_save) {
      const auto verdict = state_.verdicts->find(ShapeOf(job));
      Expect(verdict != state_.verdicts->end() && !verdict->second.empty(), who, " is queued without a blocker");
    }
    CheckDependencies(job);
    CheckSave(job, live);
    const bool may_run = job.state != JobState::kQueued && job.state != JobState::kHeld;
    Expect(may_run || !LimitUsedUp(policy_, job), who, " waits, and its time limit is used up");
    const bool counted = state_.index().kept.unfinished_by_user.contains(job.user);
    Expect(IsTerminal(job.state) || counted, who, " is not counted among its user's");
    Expect(job.durable.attempt <= job.attempts, who, " has a save of an attempt that was not yet");
    for (const std::int64_t gpu_ms : job.ledger) Expect(gpu_ms >= 0, who, ": a negative entry in the ledger");
  }

  // A job waits for a node only while that node has what it goes on from, and nobody who is heard has it; or while an
  // orphan of it runs there.
  void CheckSave(const Job& job, const Attempt* live) {
    const Job* who = &job;
    Expect(!job.waits_for_save || job.state == JobState::kQueued, who, " waits for a node, and is not queued");
    Expect(!job.save_in_memory || job.state == JobState::kQueued, who, " watches its save, and is not queued");
    if (job.state == JobState::kQueued) {
      const SaveReach reach = ReachOf(state_, BaseOf(state_, job));
      const bool runs = static_cast<bool>(OrphanOf(state_, job.id));
      const bool waits =
          runs || (reach.reach != Reach::kNow && !(reach.reach == Reach::kLost && MayBeInMemory(state_, job)));
      Expect(waits == static_cast<bool>(job.waits_for_save), who,
             waits ? " may start, and must wait for a node" : " waits for a node, and need not");
    }
    const bool begun = live && live->state == AttemptState::kStarting && live->base.step >= 0 && !IsShared(live->base);
    Expect(!begun || !live->base.parts.empty() || !live->base.copies.empty(), who, " goes on from a save of no node");
  }

  // What it still waits for may still come, or never will and is to be kept: nothing that is fulfilled keeps it.
  void CheckDependencies(const Job& job) {
    const Job* who = &job;
    Expect(job.waits_for.empty() || !state_.LiveAttempt(job), who, " has an attempt before what it waits for");
    if (IsTerminal(job.state)) return;
    for (const Dependency& dependency : job.waits_for) {
      const auto standing = StandingOf(state_.FindJob(dependency.job), dependency.when);
      Expect(standing != DependencyStanding::kFulfilled, who, " waits for what has come");
      Expect(dependency.keep || standing != DependencyStanding::kBroken, who, " waits for what will never come");
      const std::vector<Dependency>& asked = job.spec->after;
      const bool was_asked = std::find(asked.begin(), asked.end(), dependency) != asked.end();
      Expect(was_asked, who, " waits for what it did not ask for");
    }
  }

  // Its processes are on both sides: it crosses, whatever its rows say of leaving.
  bool CrossesNow(const Attempt& attempt) const {
    std::set<std::string> zones;
    for (const Task* task : TasksOf(state_, attempt.id)) {
      if (task->phase != TaskPhase::kReleased) zones.insert(state_.FindNode(task->node)->labels.zone);
    }
    return zones.size() > 1;
  }

  struct Crossing {
    std::uint32_t jobs = 0;
    std::uint32_t newcomers = 0;  // of these, that were not there when it came to carry fewer
  };
  // Jobs that cross a link now.
  std::map<Link, Crossing> Crossings() const {
    std::map<Link, Crossing> crossings;
    for (const auto& [pool, attempts] : state_.index().live) {
      for (const AttemptId id : attempts) {
        const Attempt& attempt = *state_.FindAttempt(id);
        if (attempt.zones.size() != 2 || attempt.state == AttemptState::kClaimed || !CrossesNow(attempt)) continue;
        Crossing& crossing = crossings[LinkOf(attempt)];
        ++crossing.jobs;
        crossing.newcomers += stay_.contains(id) ? 0 : 1;
      }
    }
    return crossings;
  }

  // One that has all its nodes waits for nothing but a link that others cross.
  bool WaitsForItsLink(const Attempt& attempt) const {
    if (attempt.zones.size() != 2) return false;
    const auto crossings = Crossings();
    const auto found = crossings.find(LinkOf(attempt));
    return found != crossings.end() && found->second.jobs >= MostOver(found->first);
  }

  void CheckLinks() {
    for (const auto& [link, crossing] : Crossings()) {
      const bool holds = crossing.jobs <= MostOver(link) || crossing.newcomers == 0;
      Expect(holds, "too many jobs cross ", link.first, "-", link.second);
    }
  }

  std::uint32_t MostOver(const Link& link) const {
    return LinkJobsMax(state_.accounts().links, link.first, link.second);
  }

  const ClusterState& state_;
  const Policy& policy_;
  const TimePoint now_;
  const std::set<AttemptId>& stay_;
  std::set<std::string> over_budget_;  // teams
  std::vector<std::string> violations_;
};

}  // namespace

std::vector<std::string> CheckInvariants(const ClusterState& state, const Policy& policy, TimePoint now,
                                         const std::set<AttemptId>& stay) {
  return Checker(state, policy, now, stay).Run();
}

}  // namespace glim::core
