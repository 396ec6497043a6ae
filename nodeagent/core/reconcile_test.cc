#include "nodeagent/core/reconcile.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "sdk/base/rng.h"

namespace glim::nodeagent {
namespace {

constexpr TaskKey kKey{7, 1, 0};
constexpr TimePoint kNow{1'000'000};

Desired Set(std::vector<DesiredTask> tasks, Revision revision = {1, 5}) { return {revision, true, std::move(tasks)}; }

DesiredTask Listed(bool launch = false) {
  DesiredTask task;
  task.key = kKey;
  task.launch = launch;
  return task;
}

DesiredTask Interrupted(std::uint32_t agreement) {
  DesiredTask task = Listed();
  task.interrupt = Interrupt{agreement, "preempted", "job 9", kNow + Seconds(60), -1, false, false, ""};
  return task;
}

DesiredTask Stopped(std::int64_t term_ms) {
  DesiredTask task = Listed();
  task.stop = Stop{"cancelled", term_ms};
  return task;
}

ObservedTask Running() {
  ObservedTask task;
  task.key = kKey;
  task.phase = Phase::kRunning;
  task.controllable = true;
  return task;
}

ObservedTask In(Phase phase) {
  ObservedTask task = Running();
  task.phase = phase;
  return task;
}

std::vector<ActionKind> Kinds(const Desired& desired, const std::vector<ObservedTask>& tasks, TimePoint now = kNow) {
  std::vector<ActionKind> kinds;
  for (const Action& action : Reconcile(desired, Observed{{1, 5}, tasks}, now)) kinds.push_back(action.kind);
  return kinds;
}

using Expected = std::vector<ActionKind>;

TEST(Reconcile, WhatIsStartedAndWhatIsNot) {
  EXPECT_EQ(Kinds(Set({Listed(true)}), {}), Expected{ActionKind::kLaunch});
  EXPECT_EQ(Kinds(Set({Listed(false)}), {}), Expected{ActionKind::kReportLost});
  for (Phase phase : {Phase::kStarting, Phase::kRunning, Phase::kExited, Phase::kReleased}) {
    EXPECT_EQ(Kinds(Set({Listed(true)}), {In(phase)}), Expected{});
  }
  DesiredTask both = Stopped(1000);
  both.launch = true;
  EXPECT_EQ(Kinds(Set({both}), {}), Expected{ActionKind::kReportLost}) << "stopped before it was started";
  Desired from_disk = Set({Listed(true)});
  from_disk.confirmed = false;
  EXPECT_EQ(Kinds(from_disk, {}), Expected{}) << "only the scheduler can say whether a launch still holds";
}

TEST(Reconcile, NothingIsStartedBesideWhatIsNotListed) {
  const auto kinds_beside = [](Phase phase) {
    ObservedTask other = In(phase);
    other.key = {kKey.job + 1, 1, 0};
    other.orphan = true;
    return Kinds(Set({Listed(true)}), {other});
  };
  EXPECT_EQ(kinds_beside(Phase::kRunning), Expected{ActionKind::kReportLost}) << "the job goes elsewhere";
  EXPECT_EQ(kinds_beside(Phase::kExited), Expected{ActionKind::kReportLost});
  EXPECT_EQ(kinds_beside(Phase::kReleased), (Expected{ActionKind::kLaunch, ActionKind::kForget}));
}

TEST(Reconcile, AbsenceNeverKills) {
  EXPECT_EQ(Kinds(Set({}), {Running()}), Expected{ActionKind::kMarkOrphan});
  ObservedTask orphan = Running();
  orphan.orphan = true;
  EXPECT_EQ(Kinds(Set({}), {orphan}), Expected{});
  EXPECT_EQ(Kinds(Set({Listed()}), {orphan}), Expected{ActionKind::kClearOrphan});
  EXPECT_EQ(Kinds(Set({}), {In(Phase::kExited)}), Expected{ActionKind::kMarkOrphan});
  EXPECT_EQ(Kinds(Set({}), {In(Phase::kReleased)}), Expected{ActionKind::kForget});
  EXPECT_EQ(Kinds(Set({Listed()}), {In(Phase::kReleased)}), Expected{}) << "listed: reported until it is not";
}

// The set on the disk may be older than the task, or damaged and gone: how the task ended would never be told.
TEST(Reconcile, OnlyTheSchedulersWordMakesATaskForgotten) {
  Desired from_disk = Set({});
  from_disk.confirmed = false;
  EXPECT_EQ(Kinds(from_disk, {In(Phase::kReleased)}), Expected{});
  EXPECT_EQ(Kinds(from_disk, {Running()}), Expected{});
  ObservedTask dying = Running();
  dying.terminated = true;
  dying.kill_at = kNow;
  EXPECT_EQ(Kinds(from_disk, {dying}), Expected{ActionKind::kKill}) << "a stop that began goes on";
  EXPECT_EQ(Kinds(Set({}), {In(Phase::kReleased)}), Expected{ActionKind::kForget});
}

TEST(Reconcile, AnOlderSetIsIgnored) {
  for (Revision old : {Revision{1, 4}, Revision{0, 99}}) {
    EXPECT_FALSE(Accepts({1, 5}, old));
    EXPECT_EQ(Kinds(Set({Stopped(0)}, old), {Running()}), Expected{});
    EXPECT_EQ(Kinds(Set({Listed(true)}, old), {}), Expected{});
    EXPECT_EQ(Kinds(Set({}, old), {In(Phase::kReleased)}), Expected{});
  }
  for (Revision newer : {Revision{1, 5}, Revision{1, 6}, Revision{2, 0}}) {
    EXPECT_TRUE(Accepts({1, 5}, newer));
    EXPECT_EQ(Kinds(Set({Stopped(0)}, newer), {Running()}), Expected{ActionKind::kKill});
  }
}

TEST(Reconcile, StopSendsTermThenKillAndRepeats) {
  const auto actions = Reconcile(Set({Stopped(1000)}), Observed{{1, 5}, {Running()}}, kNow);
  ASSERT_EQ(actions.size(), 1u);
  EXPECT_EQ(actions[0].kind, ActionKind::kTerminate);
  EXPECT_EQ(actions[0].kill_at, kNow + Seconds(1));
  EXPECT_EQ(actions[0].reason, "cancelled");

  ObservedTask stopping = Running();
  stopping.terminated = true;
  stopping.kill_at = kNow + Seconds(1);
  EXPECT_EQ(Kinds(Set({Stopped(1000)}), {stopping}, kNow + Milliseconds(999)), Expected{});
  EXPECT_EQ(NextWake(Observed{{1, 5}, {stopping}}), kNow + Seconds(1));
  EXPECT_EQ(Kinds(Set({Stopped(1000)}), {stopping}, kNow + Seconds(1)), Expected{ActionKind::kKill});

  stopping.killed_at = kNow + Seconds(1);
  EXPECT_EQ(Kinds(Set({Stopped(1000)}), {stopping}, stopping.killed_at + Milliseconds(1)), Expected{});
  EXPECT_EQ(Kinds(Set({Stopped(1000)}), {stopping}, stopping.killed_at + kKillRepeat), Expected{ActionKind::kKill});
  EXPECT_EQ(NextWake(Observed{{1, 5}, {stopping}}), stopping.killed_at + kKillRepeat);
  stopping.phase = Phase::kReleased;
  EXPECT_EQ(Kinds(Set({Stopped(1000)}), {stopping}, kNow + Seconds(9)), Expected{});
  EXPECT_FALSE(NextWake(Observed{{1, 5}, {stopping}}));
}

TEST(Reconcile, AStopThatBeganGoesOnWithoutTheScheduler) {
  ObservedTask stopping = Running();
  stopping.terminated = true;
  stopping.kill_at = kNow;
  stopping.orphan = true;
  EXPECT_EQ(Kinds(Set({}), {stopping}), Expected{ActionKind::kKill});
  EXPECT_EQ(Kinds(Set({}, {0, 1}), {stopping}), Expected{ActionKind::kKill}) << "even when the set is stale";
  Desired from_disk = Set({Stopped(5000)});
  from_disk.confirmed = false;
  EXPECT_EQ(Kinds(from_disk, {Running()}), Expected{ActionKind::kTerminate});
}

TEST(Reconcile, AShorterStopHastensTheKillAndALongerOneDoesNotDelayIt) {
  ObservedTask stopping = Running();
  stopping.terminated = true;
  stopping.kill_at = kNow + Seconds(30);
  EXPECT_EQ(Kinds(Set({Stopped(0)}), {stopping}), Expected{ActionKind::kKill});
  EXPECT_EQ(Kinds(Set({Stopped(60'000)}), {stopping}), Expected{});
  const auto actions = Reconcile(Set({Stopped(5000)}), Observed{{1, 5}, {stopping}}, kNow);
  ASSERT_EQ(actions.size(), 1u);
  EXPECT_EQ(actions[0].kill_at, kNow + Seconds(5));
}

TEST(Reconcile, WhatCannotBeReachedYetIsStoppedLater) {
  ObservedTask starting = In(Phase::kStarting);
  starting.controllable = false;
  EXPECT_EQ(Kinds(Set({Stopped(0)}), {starting}), Expected{});
  starting.controllable = true;
  EXPECT_EQ(Kinds(Set({Stopped(0)}), {starting}), Expected{ActionKind::kKill});
}

TEST(Reconcile, InterruptsAreLevels) {
  EXPECT_EQ(Kinds(Set({Interrupted(1)}), {Running()}), Expected{ActionKind::kUpdateInterrupt});
  ObservedTask told = Running();
  told.raised = Interrupted(1).interrupt;
  EXPECT_EQ(Kinds(Set({Interrupted(1)}), {told}), Expected{});
  EXPECT_EQ(Kinds(Set({Interrupted(2)}), {told}), Expected{ActionKind::kUpdateInterrupt});

  DesiredTask changed = Interrupted(1);
  changed.interrupt->stop_step = 40;
  EXPECT_EQ(Kinds(Set({changed}), {told}), Expected{ActionKind::kUpdateInterrupt});
  changed = Interrupted(1);
  changed.interrupt->withdrawn = true;
  EXPECT_EQ(Kinds(Set({changed}), {told}), Expected{ActionKind::kUpdateInterrupt});
  changed = Interrupted(1);
  changed.interrupt->no_agreement = true;
  EXPECT_EQ(Kinds(Set({changed}), {told}), Expected{ActionKind::kUpdateInterrupt});
  changed = Interrupted(1);
  changed.interrupt->deadline = changed.interrupt->deadline + Milliseconds(20);
  EXPECT_EQ(Kinds(Set({changed}), {told}), Expected{}) << "the jitter of a repeated message is no news";
  changed.interrupt->deadline = changed.interrupt->deadline + Seconds(30);
  EXPECT_EQ(Kinds(Set({changed}), {told}), Expected{ActionKind::kUpdateInterrupt});

  const auto down = Reconcile(Set({Listed()}), Observed{{1, 5}, {told}}, kNow);
  ASSERT_EQ(down.size(), 1u) << "listed without an interrupt: it is no longer in force";
  EXPECT_TRUE(down[0].interrupt->withdrawn);
  EXPECT_EQ(Kinds(Set({}), {told}), Expected{ActionKind::kMarkOrphan}) << "unlisted: left alone";
}

TEST(Reconcile, ASignalIsSentOnceAnAgreement) {
  DesiredTask wanted = Interrupted(3);
  wanted.interrupt->signal = "SIGUSR1";
  ObservedTask task = Running();
  EXPECT_EQ(Kinds(Set({wanted}), {task}), (Expected{ActionKind::kUpdateInterrupt, ActionKind::kSendSignal}));
  task.raised = wanted.interrupt;
  task.signalled_agreement = 3;
  EXPECT_EQ(Kinds(Set({wanted}), {task}), Expected{});
  wanted.interrupt->agreement = 4;
  EXPECT_EQ(Kinds(Set({wanted}), {task}), (Expected{ActionKind::kUpdateInterrupt, ActionKind::kSendSignal}));
  wanted.interrupt->withdrawn = true;
  EXPECT_EQ(Kinds(Set({wanted}), {task}), Expected{ActionKind::kUpdateInterrupt});
  wanted.interrupt->withdrawn = false;
  task.phase = Phase::kStarting;
  EXPECT_EQ(Kinds(Set({wanted}), {task}), Expected{ActionKind::kUpdateInterrupt}) << "nobody would get it yet";
}

TEST(Reconcile, TheAgentEnforcesNoGraceByItself) {
  ObservedTask task = Running();
  task.raised = Interrupted(1).interrupt;
  EXPECT_EQ(Kinds(Set({Interrupted(1)}), {task}, kNow + Hours(24)), Expected{});
}

// A node in miniature: carries out the actions and remembers what it did to whom.
class World {
 public:
  explicit World(std::uint64_t seed) : rng_(seed) {}

  void Step() {
    now_ = now_ + Milliseconds(rng_.Between(1, 400));
    if (rng_.OneIn(2)) Send();
    if (rng_.OneIn(10)) desired_.confirmed = rng_.OneIn(2);
    for (auto& [key, task] : tasks_) Evolve(task);
    for (const Action& action : Reconcile(desired_, Seen(), now_)) CarryOut(action);
    for (const Action& action : Reconcile(desired_, Seen(), now_)) {
      // Asking again at the same moment asks only for what the first round of actions made possible.
      EXPECT_TRUE(action.kind == ActionKind::kForget || action.kind == ActionKind::kKill ||
                  action.kind == ActionKind::kTerminate || action.kind == ActionKind::kUpdateInterrupt)
          << static_cast<int>(action.kind);
      CarryOut(action);
    }
  }

 private:
  void Send() {
    Desired incoming;
    incoming.confirmed = true;
    incoming.revision = {accepted_.epoch + (rng_.OneIn(20) ? 1 : 0),
                         static_cast<std::uint64_t>(rng_.Between(0, 3)) + accepted_.revision};
    if (rng_.OneIn(5) && incoming.revision.revision > 2) incoming.revision.revision -= 2;
    for (std::uint64_t job = 1; job <= 5; ++job) {
      if (rng_.OneIn(3)) continue;
      DesiredTask task;
      task.key = {job, static_cast<std::uint32_t>(rng_.Between(1, 2)), 0};
      task.launch = rng_.OneIn(2) && !ever_known_.contains(task.key);  // as the scheduler does
      if (rng_.OneIn(4)) task.interrupt = Interrupted(static_cast<std::uint32_t>(rng_.Between(1, 3))).interrupt;
      if (task.interrupt && rng_.OneIn(2)) task.interrupt->signal = "SIGUSR1";
      if (rng_.OneIn(5)) task.stop = Stop{"stop", rng_.Between(0, 1000)};
      incoming.tasks.push_back(task);
    }
    if (!Accepts(accepted_, incoming.revision)) {
      for (const Action& action : Reconcile(incoming, Seen(), now_)) {
        EXPECT_TRUE(action.kind == ActionKind::kKill && stopped_.contains(action.key));
      }
      return;
    }
    accepted_ = incoming.revision;
    desired_ = incoming;
    for (const DesiredTask& task : incoming.tasks) {
      if (task.stop) stopped_.insert(task.key);
    }
  }

  void Evolve(ObservedTask& task) {
    if (task.phase == Phase::kStarting && rng_.OneIn(2)) task.phase = Phase::kRunning, task.controllable = true;
    if (task.phase == Phase::kRunning && rng_.OneIn(8)) task.phase = Phase::kExited;
    if (task.phase == Phase::kExited && rng_.OneIn(3)) task.phase = Phase::kReleased;
  }

  Observed Seen() const {
    Observed seen{accepted_, {}};
    for (const auto& [key, task] : tasks_) seen.tasks.push_back(task);
    return seen;
  }

  void CarryOut(const Action& action) {
    if (action.kind == ActionKind::kLaunch || action.kind == ActionKind::kReportLost) {
      EXPECT_FALSE(tasks_.contains(action.key));
      if (action.kind == ActionKind::kLaunch) {
        EXPECT_TRUE(started_.insert(action.key).second) << "started twice";
      }
      ever_known_.insert(action.key);
      ObservedTask task;
      task.key = action.key;
      if (action.kind == ActionKind::kReportLost) task.phase = Phase::kReleased;
      tasks_[action.key] = task;
      return;
    }
    ASSERT_TRUE(tasks_.contains(action.key));
    ObservedTask& task = tasks_[action.key];
    switch (action.kind) {
      case ActionKind::kForget:
        EXPECT_EQ(task.phase, Phase::kReleased);
        tasks_.erase(action.key);
        break;
      case ActionKind::kTerminate:
      case ActionKind::kKill:
        EXPECT_TRUE(stopped_.contains(action.key)) << "no explicit stop";
        EXPECT_TRUE(!task.terminated || action.kill_at <= task.kill_at) << "a stop never moves back";
        task.terminated = true;
        task.kill_at = action.kill_at;
        if (action.kind == ActionKind::kKill) {
          EXPECT_GE(now_, action.kill_at);
          task.killed_at = now_;
          if (rng_.OneIn(2)) task.phase = Phase::kReleased;
        }
        break;
      case ActionKind::kSendSignal:
        EXPECT_GT(action.interrupt->agreement, task.signalled_agreement);
        task.signalled_agreement = action.interrupt->agreement;
        break;
      case ActionKind::kUpdateInterrupt: task.raised = action.interrupt; break;
      case ActionKind::kMarkOrphan: task.orphan = true; break;
      case ActionKind::kClearOrphan: task.orphan = false; break;
      default: FAIL();
    }
  }

  Rng rng_;
  TimePoint now_{1};
  Revision accepted_{1, 1};
  Desired desired_;
  std::map<TaskKey, ObservedTask> tasks_;
  std::set<TaskKey> started_, stopped_, ever_known_;
};

TEST(Reconcile, NothingStartsTwiceAndNothingIsKilledWithoutAStop) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    World world(seed);
    for (int i = 0; i < 200 && !testing::Test::HasFailure(); ++i) world.Step();
    ASSERT_FALSE(testing::Test::HasFailure());
  }
}

}  // namespace
}  // namespace glim::nodeagent
