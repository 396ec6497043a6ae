#include "scheduler/core/testing/cluster_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>

#include "scheduler/core/check/invariants.h"
#include "scheduler/core/lifecycle/desired.h"
#include "scheduler/core/lifecycle/heard.h"
#include "scheduler/core/lifecycle/timers.h"
#include "scheduler/core/model/policy_accounts.h"

namespace glim::core::testing {
namespace {

// By what its agents say: they speak at least every ReportEvery, and nobody else's tests need to hear it.
bool IsSomebodyJudged(const ClusterState& state, const Policy& policy) {
  const auto& attention = state.index().attention;
  return policy.node_lost_after < Hours(1000) && std::any_of(attention.begin(), attention.end(), [&](AttemptId id) {
           return state.FindAttempt(id)->state != AttemptState::kClaimed;
         });
}

}  // namespace

Cluster::Cluster(Zones shape, Policy policy, PlanFn make_plan) : policy_(std::move(policy)), make_plan_(make_plan) {
  if (auto accounts = AccountsOf(policy_); !accounts.empty()) Do(ChangeAccounts{std::move(accounts), ""});
  for (int z = 1; z <= shape.zones; ++z) {
    for (int l = 1; l <= shape.leaves; ++l) {
      const std::string zone = "z" + std::to_string(z);
      for (int n = 0; n < shape.nodes; ++n) AddNode(Labels(zone, zone + "-l" + std::to_string(l), shape.gpus));
    }
  }
}

Cluster::~Cluster() = default;

NodeId Cluster::AddNode(NodeLabels labels, const std::string& replica, std::vector<std::string> folders) {
  const NodeId expected = state_.next_node_id;
  Connect("n" + std::to_string(expected.value), std::move(labels), replica, std::move(folders));
  return expected;
}

Reply Cluster::Do(decltype(Event::what) what) {
  const Event event{++seq_, now_, std::move(what)};
  last_drive_ = Drive(
      state_, policy_, std::span(&event, 1),
      [&](const std::vector<Mutation>& mutations) {
        store_.Commit(mutations);
        return Status::Ok();
      },
      make_plan_);
  unsynced_.insert(last_drive_.sync.begin(), last_drive_.sync.end());
  Check();
  return last_drive_.replies.at(0);
}

void Cluster::Commit(const Transition& transition) {
  store_.Commit(transition.mutations);
  unsynced_.insert(transition.sync.begin(), transition.sync.end());
  Check();
}

void Cluster::Check() const {
  EXPECT_THAT(CheckInvariants(state_, policy_, now_), ::testing::IsEmpty());
  EXPECT_EQ(store_.Difference(state_), "");
}

void Cluster::SetQuota(const std::string& user, PriorityClass priority, std::uint32_t nodes) {
  const Reply reply = Do(ChangeAccounts{{{QuotaRow{{QuotaOf::kUser, user}, priority, nodes}}}, "op"});
  EXPECT_TRUE(reply.status.ok()) << reply.status.message();
}

void Cluster::SetLinks(const std::vector<ZoneLink>& links, bool quietly) {
  ChangeAccounts event{{}, "op"};
  std::set<Link> named;
  for (const ZoneLink& link : links) {
    named.insert(LinkOf(link));
    event.changes.push_back({link});
  }
  for (const auto& [ends, link] : state_.accounts().links) {
    if (!named.contains(ends)) event.changes.push_back({link, true});
  }
  const Reply reply =
      quietly ? Apply(state_, policy_, Event{++seq_, now_, std::move(event)}).reply : Do(std::move(event));
  EXPECT_TRUE(reply.status.ok()) << reply.status.message();
}

Reply Cluster::SetUser(User user) {
  const Reply reply = Do(ChangeAccounts{{{std::move(user)}}, "op"});
  EXPECT_TRUE(reply.status.ok()) << reply.status.message();
  return reply;
}

Reply Cluster::SetRule(NodeId node, const UserRule& rule) {
  const Node row = *state_.FindNode(node);
  const Reply reply = Connect(row.name, row.labels, row.replica, row.allowed_folders, rule);
  Report(node);
  return reply;
}

JobId Cluster::Submit(JobSpec spec, const std::string& user) {
  const Reply reply = Do(SubmitJobs{user, "team", "", {std::move(spec)}, false});
  EXPECT_TRUE(reply.status.ok()) << reply.status.message();
  return reply.jobs.empty() ? JobId() : reply.jobs[0];
}

Reply Cluster::Cancel(JobId job, const std::string& user) { return Do(CancelJob{job, user}); }

Reply Cluster::Suspend(JobId job, const std::string& user) { return Do(SuspendJob{job, user}); }

Reply Cluster::Resume(JobId job, const std::string& user) { return Do(ResumeJob{job, user}); }

void Cluster::Settle() {
  for (int turn = 0; turn < 200; ++turn) {
    const std::set<NodeId> nodes = std::exchange(unsynced_, {});
    for (const NodeId node : nodes) {
      if (sessions_[node] == 0) continue;
      if (!agents_[node].Obey(DesiredFor(state_.tables(), node), scripts_)) continue;
      Report(node);
      unsynced_.insert(node);  // what it has just launched may have been asked for more
    }
    if (unsynced_.empty()) return;
  }
  ADD_FAILURE() << "the cluster does not settle";
}

void Cluster::Report(NodeId node, bool current) {
  Do(NodeReported{node, sessions_[node], current, agents_[node].Observed()});
}

void Cluster::Silence(NodeId node, bool stream_ends) {
  const std::uint64_t session = std::exchange(sessions_[node], 0);
  if (stream_ends) Do(NodeDisconnected{node, session});
}

Reply Cluster::Connect(const std::string& name, NodeLabels labels, const std::string& replica,
                       std::vector<std::string> folders, const UserRule& rule,
                       std::shared_ptr<const NodeInventory> inventory) {
  NodeConnected event;
  event.name = name;
  event.machine_id = "m-" + name;
  event.labels = std::move(labels);
  event.replica = replica;
  event.allowed_folders = std::move(folders);
  event.only_uid = rule.only_uid;
  event.needs_uid = rule.needs_uid;
  event.inventory = std::move(inventory);
  return Connect(std::move(event));
}

Reply Cluster::Connect(NodeConnected event) {
  event.session = ++last_session_;
  const Reply reply = Do(event);
  if (reply.status.ok()) sessions_[reply.node] = event.session;
  return reply;
}

void Cluster::Return(NodeId node) {
  const Node& row = *state_.FindNode(node);
  Connect(row.name, row.labels, row.replica, row.allowed_folders, {row.only_uid, row.needs_uid});
  Report(node);
}

void Cluster::RestartScheduler() {
  state_ = store_.Load();
  for (auto& [node, session] : sessions_) session = 0;
  unsynced_.clear();
  Do(LeaderStarted{});
}

void Cluster::Edit(JobId id, std::uint32_t index, const std::function<void(ObservedTask&)>& change) {
  const TaskId task{attempt(id).id, index};
  const NodeId node = attempt(id).nodes.at(index);
  change(agents_[node].tasks.at(task));
  Report(node);
}

void Cluster::EditAll(JobId id, const std::function<void(ObservedTask&)>& change) {
  const auto nodes = static_cast<std::uint32_t>(attempt(id).nodes.size());
  for (std::uint32_t i = 0; i < nodes; ++i) Edit(id, i, change);
}

void Cluster::Step(JobId id, std::int64_t step) {
  EditAll(id, [&](ObservedTask& task) {
    for (Rank& rank : task.ranks) rank.step = step;
  });
}

void Cluster::Save(JobId id, std::int64_t step) {
  const auto world = static_cast<std::uint32_t>(attempt(id).nodes.size()) * job(id).spec->ranks_per_node();
  const bool own_folder = script(id).own_folder;
  EditAll(id, [&](ObservedTask& task) {
    for (Rank& rank : task.ranks) ScriptedAgent::Save(rank, step, world, own_folder);
  });
}

void Cluster::Ack(JobId id, std::uint32_t index, std::int64_t hold) {
  const std::uint32_t agreement = attempt(id).agreements.back().id;
  Edit(id, index, [&](ObservedTask& task) {
    for (Rank& rank : task.ranks) {
      rank.acked_agreement = agreement;
      rank.hold = hold;
    }
  });
}

void Cluster::Exit(JobId id, std::uint32_t index, std::int32_t code) {
  Edit(id, index, [&](ObservedTask& task) { ScriptedAgent::Release(task, code); });
}

void Cluster::Finish(JobId id) {
  EditAll(id, [](ObservedTask& task) { ScriptedAgent::Release(task, 0); });
  Settle();
}

JobId Cluster::Running(JobSpec spec, const std::string& user) {
  const JobId id = Submit(std::move(spec), user);
  Settle();
  EXPECT_EQ(job(id).state, JobState::kRunning);
  Advance(Seconds(10));
  return id;
}

void Cluster::Advance(Duration by) {
  const TimePoint target = now_ + by;
  for (int turn = 0; turn < 100'000 && now_ < target; ++turn) {
    const TimePoint wake = Wake();
    const TimePoint word = IsSomebodyJudged(state_, policy_) ? std::min(target, now_ + ReportEvery(policy_)) : target;
    now_ = wake && wake < word ? std::max(wake, now_) : word;
    Heartbeats();
    Do(TimePassed{});
    if (wake && wake <= now_ && Wake() && Wake() <= now_) {
      ADD_FAILURE() << "TimePassed leaves a deadline that is due: the loop would spin";
      return;
    }
  }
}

void Cluster::Heartbeats() {
  for (const auto& [node, session] : sessions_) {
    if (session != 0) Report(node);
  }
}

TimePoint Cluster::Wake() const {
  const TimePoint wake = NextWake(state_, policy_);
  if (!wake || (state_.look_again && state_.look_again < wake)) return state_.look_again ? state_.look_again : wake;
  return wake;
}

std::vector<Blocker> Cluster::Blockers(JobId id) const {
  const auto it = state_.verdicts->find(ShapeOf(job(id)));
  return it == state_.verdicts->end() ? std::vector<Blocker>{} : it->second;
}

}  // namespace glim::core::testing
