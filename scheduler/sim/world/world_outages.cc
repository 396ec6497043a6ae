// Agents that come and go, stores that are away or slow, leaders whose clocks run at another speed, and nodes that say
// that they run what they do not. What was told and done meanwhile is held against each other (notice_truth.h,
// work_truth.h).
#include <algorithm>
#include <string>
#include <utility>

#include "scheduler/sim/world/world.h"

namespace glim::sim {

using core::NodeId;

namespace {

constexpr Duration kLookEvery = Seconds(10);
constexpr Duration kLeaderBegins = Minutes(1);
constexpr std::int64_t kDriftMost = 10;  // thousandths
constexpr std::size_t kPlannedMost = 200;

}  // namespace

void World::SetSession(NodeId node, std::uint64_t session) {
  agents_.at(node)->SetSession(session);
  streams_.Down(node, timeline_.now());
  if (session) streams_.Up(node, timeline_.now());
}

// A third of the worlds have three zones, whose links carry different numbers of jobs.
WorldOptions World::Shaped(WorldOptions options) {
  const WorldOptions unsaid;
  const bool is_said = options.zones != unsaid.zones || options.leaves_per_zone != unsaid.leaves_per_zone ||
                       options.nodes_per_leaf != unsaid.nodes_per_leaf || options.crowd > 0;
  if (is_said || !RngOf(options.seed, Aspect::kShape).OneIn(3)) return options;
  options.zones = 3;
  options.nodes_per_leaf = 2;
  return options;
}

void World::DrawOutages() {
  if (options_.zones > 2 && !policy_.links.empty()) {
    const auto jobs = static_cast<std::uint32_t>(outage_rng_.Between(1, 3));
    policy_.links.push_back({"z1", "z2", jobs, jobs});
  }
  if (outage_rng_.OneIn(2)) policy_.health.no_progress_min = Seconds(outage_rng_.Between(60, 900));
  if (outage_rng_.OneIn(2)) {
    policy_.health.idle_gpus = {Seconds(outage_rng_.Between(60, 600)), Seconds(outage_rng_.Between(10, 600))};
  }
}

// In a fourth of the worlds what `glim why` promises falls due while they last.
void World::DrawPromises() {
  Rng rng = RngOf(options_.seed, Aspect::kPromises);
  if (crowd_ > 0 || !rng.OneIn(4)) return;
  policy_.starvation_bound = Seconds(rng.Between(10, 120));
  policy_.quantum_max = Seconds(rng.Between(5, 60));
  policy_.quantum_min = Seconds(rng.Between(1, policy_.quantum_max.ms / 1000));
  policy_.min_run_max = std::min(policy_.min_run_max, Seconds(rng.Between(0, 30)));
  policy_.grace_cap = policy_.max_grace_cap = {Seconds(rng.Between(5, 20)), {}};
}

void World::BeginOutages() {
  timeline_.After(kLookEvery, [this] { LookAround(); });
  if (!options_.faults) return;
  drift_ = outage_rng_.Between(-kDriftMost, kDriftMost);
  timeline_.After(Seconds(outage_rng_.Between(10, 200)), [this] { OutageActs(); });
}

void World::LookAround() {
  if (!down_ && timeline_.now() >= store_back_) {
    const bool is_calm = !state_->outage && timeline_.now() - calm_since_ > kLeaderBegins;
    promises_.Look(*state_, policy_, is_calm, SchedulerNow());
    report_.promises_kept = promises_.kept();
    CheckNoPassIsMissing();
    work_.CheckStanding(*state_, streams_, policy_, calm_since_, timeline_.now());
    for (const auto& [node, agent] : agents_) {
      notices_.CheckStops(*state_, node, agent->Running(), policy_, calm_since_, timeline_.now());
    }
  }
  timeline_.After(kLookEvery, [this] { LookAround(); });
}

// A write that a plan reads calls for a pass (Changes). Where none was called for since the last, a plan of the same
// moment still starts nothing on free nodes. Progress calls for no pass: what a plan displaces turns on it, and so does
// for how long whoever runs is left alone, behind which the pass comes that is due by time. A plan for a crowd takes
// too long.
void World::CheckNoPassIsMissing() {
  if (state_->dirty || crowd_ > 0) return;
  const core::Plan plan = core::MakePlan(*state_, policy_, last_pass_);
  if (plan.look_again != state_->look_again) return;
  for (const core::PlannedStart& start : plan.starts) {
    if (!start.victims.empty() || !start.displaced.empty()) continue;
    Violation("job " + std::to_string(start.job.value) + " can start, and no pass was called for");
  }
}

void World::OutageActs() {
  if (healing_) return;
  switch (outage_rng_.Between(0, 4)) {
    case 0:
    case 1: {
      const NodeId node = AnyOtherNode();
      Flap(node, static_cast<int>(outage_rng_.Between(5, 40)));
      if (outage_rng_.OneIn(2)) KeepTasks(node, Seconds(outage_rng_.Between(60, 900)));
      break;
    }
    case 2:  // the store is away, or only slow
      ++report_.store_outages;
      store_back_ = timeline_.now() + Milliseconds(outage_rng_.OneIn(2) ? outage_rng_.Between(100, 3000)
                                                                        : outage_rng_.Between(3000, 90'000));
      break;
    default: Claim(AnyOtherNode());
  }
  timeline_.After(Seconds(outage_rng_.Between(5, 150)), [this] { OutageActs(); });
}

NodeId World::AnyOtherNode() {
  return NodeId(static_cast<std::uint32_t>(outage_rng_.Between(1, static_cast<std::int64_t>(agents_.size()))));
}

// Its agent dies and is started again, time after time.
void World::Flap(NodeId node, int times) {
  if (healing_ || times == 0) return;
  ++report_.flaps;
  Disconnect(node, Milliseconds(outage_rng_.Between(100, 2000)));
  timeline_.After(Seconds(outage_rng_.Between(4, 45)), [this, node, times] { Flap(node, times - 1); });
}

// What is killed there does not go, as a process that waits for a device.
void World::KeepTasks(NodeId node, Duration lasts) {
  Trouble trouble;
  trouble.keeps = true;
  agents_.at(node)->Suffer(trouble);
  timeline_.After(lasts, [this, node] { agents_.at(node)->Suffer({}); });
}

// A broken agent, or one in wrong hands, says that attempts of others' jobs run there.
void World::Claim(NodeId node) {
  ++report_.false_claims;
  const auto newest = static_cast<std::int64_t>(state_->next_job_id.value);
  std::vector<core::AttemptId> claims;
  for (int i = 0; i < 3; ++i) {
    const core::JobId job(
        static_cast<std::uint64_t>(outage_rng_.Between(std::max<std::int64_t>(1, newest - 12), newest)));
    claims.push_back({job, static_cast<std::uint32_t>(outage_rng_.Between(1, 6))});
  }
  agents_.at(node)->Claim(std::move(claims));
  timeline_.After(Seconds(outage_rng_.Between(10, 200)), [this, node] { agents_.at(node)->Claim({}); });
}

// Who wanted the nodes is cancelled while ranks leave them.
void World::SeeRequest(const core::HistoryEntry& request) {
  const core::Attempt* attempt = state_->FindAttempt({request.job, request.attempt});
  const core::Agreement* open = attempt ? attempt->open_agreement() : nullptr;
  const core::Job* preemptor = open ? state_->FindJob(open->preemptor.job) : nullptr;
  if (!preemptor || preemptor->validates || report_.events >= options_.events || !outage_rng_.OneIn(3)) return;
  timeline_.After(Milliseconds(outage_rng_.Between(100, 8000)), [this, job = preemptor->id, user = preemptor->user] {
    Post(core::CancelJob{job, user});
  });
}

// Whether the batch can wait for a store that is not there: then it is driven when that is back.
bool World::WaitsForStore() {
  if (timeline_.now() >= store_back_) return false;
  calm_since_ = store_back_;  // the leader could decide nothing before
  drain_due_ = true;
  timeline_.At(store_back_, [this] { Drain(); });
  return true;
}

// What `glim plan` says of a submission a moment before it is made.
std::vector<core::WhatIf::Planned> World::PlanOf(const std::vector<core::Event>& batch) const {
  const auto* submit = batch.size() == 1 ? std::get_if<core::SubmitJobs>(&batch.front().what) : nullptr;
  if (!submit || state_->index().kept.unfinished.jobs > kPlannedMost) return {};
  // What is due, and waits for the store, is done first: no plan knows that.
  if (state_->promised_wake && state_->promised_wake <= last_now_) return {};
  core::ClusterState copy = core::ClusterState::Of(state_->tables());
  copy.verdicts = state_->verdicts;
  copy.liveness = state_->liveness;
  copy.leader_since = state_->leader_since;
  copy.outage = state_->outage;
  core::Event check{0, last_now_, *submit};
  std::get<core::SubmitJobs>(check.what).validate_only = true;
  if (!core::Apply(copy, policy_, check).reply.status.ok()) return {};
  return core::WhatIf(std::move(copy), policy_, last_now_).Plan(submit->user, submit->team, submit->specs);
}

void World::CheckPlans(const std::vector<core::WhatIf::Planned>& planned, const core::Reply& reply) {
  for (std::size_t i = 0; i < std::min(planned.size(), reply.jobs.size()); ++i) {
    const core::Job* job = state_->FindJob(reply.jobs[i]);
    const core::Attempt* live = job ? state_->LiveAttempt(*job) : nullptr;
    ++report_.plans;
    const auto& said = planned[i].trial.start;
    if (said.has_value() == (live != nullptr) && (!live || said->nodes == live->nodes)) continue;
    std::string text = "job " + std::to_string(reply.jobs[i].value) + ": a plan said that it ";
    text += said ? "starts now on " + std::to_string(said->nodes.size()) + " nodes" : "waits";
    const auto& blockers = planned[i].trial.blockers;
    if (!said && !blockers.empty()) text += " (" + blockers.front().message + ")";
    text += live ? ", and it has begun" + std::string(said ? " on others" : "") : ", and it waits";
    Violation(text);
  }
}

}  // namespace glim::sim
