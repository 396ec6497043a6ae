// A cluster in virtual time: the production core and its Drive loop, with simulated agents, ranks and users around it.
//
// Everything follows from the seed. Invariants are checked after every batch; what ranks and nodes would suffer (two
// attempts on a node, a step beyond S, S changed) is checked where it would happen, and what the world knows beside the
// scheduler is held against its rows (truth.h). A violation ends the run.
//
// Sources: world.cc, world_agents.cc (machines and messages), world_counts.cc (the report), world_faults.cc (faults by
// seed), world_widened.cc (troubles of nodes, versions of agents, reloads of the policy), world_crowd.cc (long
// queues), world_users.cc (whose rights tasks have), world_operate.cc (nodes taken out, jobs moved), world_health.cc
// (what machines find in their hardware), world_measure.cc (machines that are measured), world_reach.cc (cables that
// are pulled, and who notices), world_outages.cc (agents that come and go, stores that are away, false claims, plans),
// world_backup.cc (stores that go back, and what then runs that they do not know), world_budgets.cc (budgets of teams),
// world_updates.cc (first starts, and what users change of their jobs)
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "scheduler/core/advice/what_if.h"
#include "scheduler/core/core.h"
#include "scheduler/sim/world/aspect.h"
#include "scheduler/sim/world/health_truth.h"
#include "scheduler/sim/world/notice_truth.h"
#include "scheduler/sim/world/pools.h"
#include "scheduler/sim/world/process_truth.h"
#include "scheduler/sim/world/promise_truth.h"
#include "scheduler/sim/world/reach.h"
#include "scheduler/sim/world/sim_agent.h"
#include "scheduler/sim/world/sim_run.h"
#include "scheduler/sim/world/streams.h"
#include "scheduler/sim/world/terms.h"
#include "scheduler/sim/world/timeline.h"
#include "scheduler/sim/world/truth.h"
#include "scheduler/sim/world/work_truth.h"
#include "scheduler/sim/world/workload.h"
#include "scheduler/sim/world/world_report.h"
#include "scheduler/store/memory/memory_store.h"
#include "sdk/base/rng.h"
#include "sdk/base/version_range.h"

namespace glim::sim {

struct WorldOptions {
  std::uint64_t seed = 1;
  std::uint64_t events = 2000;  // driven before the users go home
  std::uint32_t zones = 2;
  std::uint32_t leaves_per_zone = 2;
  std::uint32_t nodes_per_leaf = 3;
  bool check_invariants = true;
  bool faults = false;      // see world_faults.cc
  std::uint32_t crowd = 0;  // jobs that one user queues at once, see world_crowd.cc; 0: as the seed says
  std::uint32_t kinds = 0;  // of how many shapes these are
};

// What glim-sim is to be told to make this world again.
std::string ArgumentsOf(const WorldOptions& options);

// Of every node, unless it was relabelled.
inline constexpr std::uint32_t kGpus = 8;
// Of most nodes (pools.h).
inline constexpr const char* kPool = "default";

class World {
 public:
  explicit World(WorldOptions options);
  WorldReport Run();

 private:
  void AddNodes();
  void UserActs();
  void MaybeAddDependency(core::JobSpec& spec);
  // world_updates.cc
  bool HasFirstStarts() const;
  void MaybeDelay(core::JobSpec& spec);
  void UserUpdates();
  void OperateBudgets();  // world_budgets.cc
  void CancelHopeless();
  void CheckSpecs(const core::SubmitJobs& submit);
  void Post(decltype(core::Event::what) what);
  void Drain();
  void SendDesired(core::NodeId node);
  void Check(const std::vector<core::Event>& batch);
  void CountEnd(const core::Mutation& mutation);
  void CountWidened(const core::Attempt& ended);
  void CountGrace(const core::HistoryEntry& request);
  void CountTroubles();
  void Violation(const std::string& what);
  void Connect(core::NodeId node);
  void Disconnect(core::NodeId node, Duration away);
  TimePoint SchedulerNow() const;
  Status Commit(const std::vector<core::Mutation>& mutations);
  void ArmWake(TimePoint wake_at);
  // Faults.
  void FaultActs();
  // `committed`: the rows of the last commit that was taken.
  void CrashScheduler(const core::Tables& committed);
  void BeginLeader();
  void WakeRival();
  void Partition();
  void StepClock();
  void Relabel(core::NodeId node);
  void RestoreLabels();
  void Reinstall(core::NodeId node);
  void SeeRemoval(const core::Mutation& mutation);
  void InstallAnew(core::NodeId removed);
  void Register(const std::string& name);
  void SeeNewcomer(const core::NodeConnected& hello, const core::Reply& reply);
  void Heal();
  core::NodeId AnyNode();
  const std::string& HomeOf(const std::string& node_name) const;
  // The widened world.
  void BeginWidened();
  void SeeRefusal(const core::Event& event, const Status& status);
  void TroubleActs();
  void EndTroubles();
  void RollBackAgent();
  bool LetsIn(core::NodeId node);
  void Upgrade(core::NodeId node);
  void ReloadPolicy();
  void OperatorActs();
  void ChangeLink();
  void BeginOperating();
  void OperateNodes();
  void OperateJobs();
  void OperateReservations();
  void BeginHealth();
  void HealthActs();
  void MendHealth();
  void DrawMeasuring();
  void AskToMeasure();
  void SeeMeasured(const core::HistoryEntry& entry);
  void ReachActs();
  void CutOff(core::NodeId node, Duration away);
  void Deafen(core::NodeId node, Duration lasts);
  void AskToReach(core::NodeId node, const std::vector<core::NodeId>& targets);
  void TellReached(core::NodeId node);
  void SeeFailed(const core::Attempt& row);
  void SeeLost(const core::HistoryEntry& entry);
  static WorldOptions Shaped(WorldOptions options);
  void DrawOutages();
  void DrawPromises();
  void BeginOutages();
  void OutageActs();
  void LookAround();
  void CheckNoPassIsMissing();
  core::NodeId AnyOtherNode();
  void SetSession(core::NodeId node, std::uint64_t session);
  void Flap(core::NodeId node, int times);
  void KeepTasks(core::NodeId node, Duration lasts);
  void Claim(core::NodeId node);
  void SeeRequest(const core::HistoryEntry& request);
  bool WaitsForStore();
  std::vector<core::WhatIf::Planned> PlanOf(const std::vector<core::Event>& batch) const;
  void CheckPlans(const std::vector<core::WhatIf::Planned>& planned, const core::Reply& reply);
  core::User UserAtHome(std::int64_t number) const;
  void DrawRule(core::NodeConnected& hello);
  void RegisterUsers();
  void ChangeUid(core::User& user);
  void ChangeTaskUsers(core::Policy& policy);
  bool IsClosedForGood(const core::Job& job, const std::vector<core::Blocker>& blockers) const;
  void SeeLaunch(core::NodeId node, const SentTask& task);
  void TakePolicy(const std::vector<core::Event>& batch);
  void PlanCrowd();
  void Gather();
  void Disperse();
  bool AllOver() const;
  std::string Unfinished() const;
  void BeginBackups();
  void BackUp();
  void PutBack();
  void FindOrphans();
  void EndForgotten();
  void SeeOrphansNumber(const core::Mutation& mutation);
  void MixesUp(core::AttemptId attempt);
  const JobScript& ScriptOf(core::AttemptId attempt, std::uint32_t life);
  std::shared_ptr<SimRun>& PlaceOf(core::AttemptId attempt, std::uint32_t life);
  std::shared_ptr<SimRun> Join(core::TaskId task, std::int64_t base_step, std::uint32_t life);
  bool Fetch(core::NodeId reader, core::JobId job, const core::Checkpoint& save);
  const JobScript& ScriptOf(core::JobId job);
  SimAgent::World WorldForAgents();

  const WorldOptions options_;
  core::Policy policy_;
  core::Policy first_policy_;
  std::optional<core::Policy> next_policy_;  // in force from the batch on that has its event
  Rng rng_;
  Pools pools_;
  Terms terms_;
  Rng trouble_rng_;
  Rng version_rng_;
  Rng reload_rng_;
  Rng accounts_rng_;
  Rng crowd_rng_;
  Rng users_rng_;
  Rng operate_rng_;
  Rng links_rng_;
  Rng health_rng_;
  Rng measure_rng_;
  Rng reach_rng_;
  Rng outage_rng_;
  Rng backup_rng_;
  Rng first_rng_;
  Rng budget_rng_;
  const bool uids_;  // users have uids, and machines' agents ask for them
  TroublesMet met_;
  VersionRange speaks_{2, 3};                         // the scheduler
  std::map<std::string, VersionRange> agents_speak_;  // by node name; others: what the first scheduler spoke
  std::set<core::NodeId> knocking_;                   // refused, and will come again
  std::set<core::NodeId> upgrades_due_;
  std::uint32_t crowd_ = 0;
  std::uint32_t kinds_ = 1;
  Timeline timeline_;
  std::unique_ptr<core::ClusterState> state_ = std::make_unique<core::ClusterState>();
  const std::shared_ptr<store::MemoryData> store_data_ = std::make_shared<store::MemoryData>();
  store::MemoryStore store_{store_data_};
  struct Backup;
  std::shared_ptr<const Backup> backup_;
  std::uint32_t life_ = 0;  // of the store: how often it went back
  std::uint64_t epoch_ = 0;
  std::uint64_t revision_ = 0;
  Duration clock_offset_;    // of the scheduler's clock, which is read once, when a leader begins
  Duration machine_offset_;  // of the machine's, which is set now and then
  std::int64_t drift_ = 0;   // of the scheduler's clock, thousandths
  TimePoint leader_at_;      // when the present leader began
  TimePoint calm_since_;     // the leader has been at work since then
  TimePoint store_back_;     // the store takes nothing before then
  TimePoint last_now_;
  TimePoint last_pass_;
  bool crash_before_commit_ = false;
  bool crash_after_commit_ = false;
  std::unique_ptr<core::ClusterState> rival_;  // of a leader that sleeps, and will wake beside its successor
  std::uint64_t rival_epoch_ = 0;
  bool healing_ = false;
  bool down_ = false;  // the scheduler was killed and is not back yet
  std::vector<core::Event> inbox_;
  std::vector<std::vector<JobScript>> submissions_in_inbox_;  // beside inbox_, empty for other events
  std::vector<JobScript> next_scripts_;
  bool drain_due_ = false;
  TimePoint wake_;
  std::set<core::AttemptId> begun_;  // by the batch that is driven
  std::uint64_t seq_ = 0;
  std::uint64_t session_ = 0;
  std::map<core::NodeId, std::unique_ptr<SimAgent>> agents_;
  std::map<core::NodeId, core::NodeConnected> hellos_;
  std::set<core::NodeId> removed_;                        // their agents stay, without a stream
  std::map<std::string, core::NodeConnected> newcomers_;  // machines that were installed anew, to register yet
  std::map<core::NodeId, TimePoint> desired_lands_;       // desired sets of one stream arrive in order
  std::map<core::AttemptId, std::shared_ptr<SimRun>> runs_;
  std::map<core::AttemptId, std::shared_ptr<SimRun>> orphan_runs_;  // of attempts that the store has forgotten
  std::map<core::JobId, JobScript> orphan_scripts_;
  std::set<core::AttemptId> mixed_up_;
  std::set<core::AttemptId> over_;  // the store takes them for live, and nothing of them is left
  std::set<core::NodeId> unheard_;  // have orphans, and have not said so yet
  std::map<core::JobId, JobScript> scripts_;
  std::map<core::AttemptId, std::optional<core::TaskUser>> task_users_;  // as first sent
  WorldReport report_;
  Streams streams_;
  Truth truth_{[this](const std::string& what) { Violation(what); },
               [this](core::AttemptId id) {
                 const auto run = runs_.find(id);
                 return run == runs_.end() ? std::nullopt : std::optional(run->second->began_from());
               }};
  NoticeTruth notices_{[this](const std::string& what) { Violation(what); },
                       [this](core::TaskId task) {
                         const auto run = runs_.find(task.attempt);
                         return run != runs_.end() && !run->second->Exited(task.index);
                       },
                       streams_};
  WorkTruth work_{[this](const std::string& what) { Violation(what); }, runs_};
  HealthTruth health_{[this](const std::string& what) { Violation(what); }};
  Reach reach_{[this](core::NodeId node) { return hellos_.at(node).name; }};
  PromiseTruth promises_{[this](const std::string& what) { Violation(what); }};
  ProcessTruth processes_{[this](const std::string& what) { Violation(what); }};
};

}  // namespace glim::sim
