// Lives at random: whatever users, agents, clocks and leaders do, the invariants hold after every event (Cluster checks
// them), the store has every row, and when the trouble is over every job comes to its end.
#include <gtest/gtest.h>

#include <algorithm>

#include "scheduler/core/testing/cluster_builder.h"
#include "sdk/base/rng.h"
#include "sdk/base/testing/seeds.h"

namespace glim::core {
namespace {

using testing::Cluster;
using testing::Script;
using testing::ScriptedAgent;
using testing::Spec;
using testing::Zones;

const TaskId kStray{{JobId(1'000'000), 1}, 0};

class Walk {
 public:
  explicit Walk(std::uint64_t seed) : rng_(seed), c_(Zones{.zones = 2, .leaves = 2, .nodes = 2}, WalkPolicy()) {
    for (std::uint32_t n = 1; n <= 8; n += rng_.OneIn(3) ? 2 : 1) {
      const Node& node = c_.node(NodeId(n));
      c_.Connect(node.name, node.labels, node.name + ":7010");
    }
  }

  void Step() {
    switch (rng_.Between(0, 15)) {
      case 0:
      case 1: Submit(); break;
      case 2:
        if (const JobId job = AnyJob()) GiveOrder(job);
        break;
      case 3:
        if (const JobId job = AnyJob()) c_.script(job) = RandomScript();
        break;
      case 4:
        if (rng_.OneIn(3)) c_.Silence(AnyNode(), rng_.OneIn(2));
        break;
      case 5:
      case 6: c_.Return(AnyNode()); break;
      case 7:
        if (rng_.OneIn(6)) c_.RestartScheduler();
        if (rng_.OneIn(3)) ChangeUsers();
        break;
      case 8:
        Stray(AnyNode());
        c_.Do(ReturnNode{"n" + std::to_string(AnyNode().value)});
        break;
      case 9:
      case 10: c_.Advance(Milliseconds(rng_.Between(1, 90'000))); break;
      case 11: c_.Settle(); break;
      default:
        if (const JobId job = AnyJob()) Disturb(job);
    }
  }

  // Trouble ends: everybody behaves, everybody is heard, whoever is held is resumed, whoever runs finishes.
  void Heal() {
    for (const char* name : {"ann", "bob"}) c_.SetUser(User{name});
    for (std::uint64_t id = 1; id < c_.state().next_job_id.value; ++id) c_.script(JobId(id)) = Script{};
    for (std::uint32_t n = 1; n <= 8; ++n) {
      c_.agent(NodeId(n)).tasks.erase(kStray);
      c_.SetRule(NodeId(n), {});
      c_.Do(ReturnNode{"n" + std::to_string(n)});
    }
    for (int turn = 0; turn < 400 && c_.state().index().kept.unfinished.jobs > 0; ++turn) {
      c_.Settle();
      for (std::uint64_t id = 1; id < c_.state().next_job_id.value; ++id) Bring(JobId(id));
      c_.Advance(Seconds(31));
      for (std::uint32_t n = 1; n <= 8; ++n) {
        if (c_.node(NodeId(n)).state == NodeState::kQuarantined) c_.Do(ReturnNode{c_.node(NodeId(n)).name});
      }
    }
  }

  Cluster& cluster() { return c_; }

 private:
  static Policy WalkPolicy() {
    Policy policy;
    policy.default_user_quota.nodes = {
        {PriorityClass::kExtremeHigh, 2}, {PriorityClass::kHigh, 3}, {PriorityClass::kNormal, 5}};
    policy.cross_zone_nodes_min = 3;
    return policy;
  }

  void Submit() {
    static const PriorityClass kClasses[] = {PriorityClass::kAuto, PriorityClass::kLow, PriorityClass::kNormal,
                                             PriorityClass::kHigh, PriorityClass::kExtremeHigh};
    JobSpec spec = Spec(static_cast<std::uint32_t>(rng_.Between(1, 6)), kClasses[rng_.Between(0, 4)]);
    if (rng_.OneIn(5)) spec.interrupt_mode = InterruptMode::kSignal;
    if (rng_.OneIn(6)) spec.launcher = Launcher::kPerGpu;
    if (rng_.OneIn(6)) spec.grace = spec.max_grace = {};
    spec.restart_max = 1000;
    const Status status = c_.Do(SubmitJobs{rng_.OneIn(2) ? "ann" : "bob", "team", "", {spec}, false}).status;
    EXPECT_TRUE(status.ok() || status.field() == "user" || status.reason() == "UID_NOT_ALLOWED") << status.message();
  }

  // An agent begins anew as somebody else, or an operator changes who a user is on the nodes.
  void ChangeUsers() {
    constexpr std::uint32_t kAnn = 1001, kBob = 1002, kSystems = 33;
    if (rng_.OneIn(2)) {
      UserRule rule;
      if (rng_.OneIn(3)) rule.only_uid = rng_.OneIn(2) ? kAnn : kBob;
      rule.needs_uid = rng_.OneIn(3);
      return static_cast<void>(c_.SetRule(AnyNode(), rule));
    }
    const bool ann = rng_.OneIn(2);
    User user{ann ? "ann" : "bob"};
    if (!rng_.OneIn(3)) user.uid = user.gid = ann ? kAnn : kBob;
    if (!ann && rng_.OneIn(5)) user.uid = user.gid = kSystems;
    c_.SetUser(std::move(user));
  }

  // A task that nobody knows comes or goes.
  void Stray(NodeId node) {
    auto& tasks = c_.agent(node).tasks;
    if (tasks.erase(kStray) == 0 && rng_.OneIn(2)) tasks[kStray].id = kStray;
    if (c_.IsConnected(node)) c_.Report(node);
  }

  void GiveOrder(JobId job) {
    const std::string user = c_.job(job).user;
    switch (rng_.Between(0, 4)) {
      case 0: c_.Cancel(job, user); break;
      case 1:
      case 2: c_.Suspend(job, user); break;
      default: c_.Resume(job, user);
    }
  }

  Script RandomScript() {
    Script script;
    script.starts = !rng_.OneIn(8);
    script.runs = !rng_.OneIn(6);
    script.acks = !rng_.OneIn(3);
    script.saves = !rng_.OneIn(3);
    script.leaves = !rng_.OneIn(3);
    script.stuck = rng_.OneIn(8);
    return script;
  }

  // Something happens to one of its tasks.
  void Disturb(JobId job) {
    if (!c_.state().LiveAttempt(c_.job(job))) return;
    const Attempt& attempt = c_.attempt(job);
    const auto index = static_cast<std::uint32_t>(rng_.Between(0, static_cast<int>(attempt.nodes.size()) - 1));
    const NodeId node = attempt.nodes[index];
    auto& tasks = c_.agent(node).tasks;
    const auto task = tasks.find({attempt.id, index});
    if (task == tasks.end() || !c_.IsConnected(node) || task->second.phase == TaskPhase::kReleased) return;
    const std::int64_t step = rng_.Between(0, 100);
    const auto world = static_cast<std::uint32_t>(attempt.nodes.size()) * c_.job(job).spec->ranks_per_node();
    switch (rng_.Between(0, 9)) {
      case 0: ScriptedAgent::Release(task->second, static_cast<std::int32_t>(rng_.Between(0, 1))); break;
      case 1: task->second.lost = true; break;
      case 2: task->second.ranks[0].leaving = true; break;
      case 3: task->second.ranks[0].extend = Seconds(rng_.Between(1, 1000)); break;
      case 4:
        if (rng_.OneIn(4)) tasks.erase(task);
        break;
      case 5: task->second.phase = TaskPhase::kRunning; break;
      case 6:
        for (Rank& rank : task->second.ranks) rank.finished = true;
        break;
      default:
        for (Rank& rank : task->second.ranks) {
          rank.step = std::max(rank.step, step);
          if (rng_.OneIn(2)) ScriptedAgent::Save(rank, step, world);
        }
    }
    c_.Report(node);
  }

  // One step nearer to the job's end.
  void Bring(JobId id) {
    const Job* job = c_.state().FindJob(id);
    if (!job || IsTerminal(job->state)) return;
    if (job->state == JobState::kHeld) {
      c_.Resume(id, job->user);
    } else if (job->state == JobState::kRunning && c_.attempt(id).state == AttemptState::kRunning) {
      const std::vector<NodeId> nodes = c_.attempt(id).nodes;
      for (std::uint32_t i = 0; i < nodes.size(); ++i) {
        const TaskId task{c_.attempt(id).id, i};
        const auto seen = c_.agent(nodes[i]).tasks.find(task);
        if (seen == c_.agent(nodes[i]).tasks.end()) continue;
        ScriptedAgent::Release(seen->second, 0);
        c_.Report(nodes[i]);
      }
    } else if (job->state == JobState::kStarting && c_.attempt(id).state == AttemptState::kStarting) {
      for (const NodeId node : c_.attempt(id).nodes) {
        for (auto& [task, seen] : c_.agent(node).tasks) {
          if (task.attempt.job == id) seen.phase = std::max(seen.phase, TaskPhase::kRunning);
        }
        c_.Report(node);
      }
    }
  }

  NodeId AnyNode() { return NodeId(static_cast<std::uint32_t>(rng_.Between(1, 8))); }
  JobId AnyJob() {
    const auto last = static_cast<std::int64_t>(c_.state().next_job_id.value) - 1;
    if (last == 0) return {};
    const JobId job(static_cast<std::uint64_t>(rng_.Between(std::max<std::int64_t>(1, last - 12), last)));
    return c_.state().FindJob(job) ? job : JobId();
  }

  Rng rng_;
  Cluster c_;
};

class RandomWalk : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(RandomWalk, KeepsTheInvariantsAndEveryJobEnds) {
  Walk walk(GetParam());
  for (int i = 0; i < 400 && !HasFailure(); ++i) walk.Step();
  ASSERT_FALSE(HasFailure()) << "in the walk";
  walk.Heal();
  std::string left;
  walk.cluster().state().tables().jobs.ForEach([&](JobId id, const Job& job) {
    if (!IsTerminal(job.state)) left += std::to_string(id.value) + " " + ToString(job.state) + "; ";
  });
  EXPECT_EQ(left, "") << "jobs that never end";
  EXPECT_TRUE(walk.cluster().state().index().live.empty());
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomWalk, ::testing::Range<std::uint64_t>(1, SeedsOf(26, 5)));

}  // namespace
}  // namespace glim::core
