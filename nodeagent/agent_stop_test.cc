#include <signal.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "nodeagent/task/task_files.h"
#include "nodeagent/testing/agent_fixture.h"
#include "sdk/io/read_file.h"
#include "sdk/io/write_file.h"

namespace glim::nodeagent {
namespace {

constexpr auto kExited = v1::ObservedTask::EXITED;

class AgentStopTest : public AgentTest {};

TEST_P(AgentStopTest, SigtermReachesEverythingAndItsAnswerCounts) {
  StartAgent();
  Launch(kKey,
         "trap 'echo term; exit 5' TERM; (trap 'echo child; exit' TERM; echo up; while :; do sleep 0.05; done) &"
         " while :; do sleep 0.05; done");
  Send();
  WaitLine(kKey, 0, "up");
  Stop(kKey, 20'000);
  Send();
  const auto task = WaitPhase(kKey, kReleased);
  ASSERT_TRUE(task);
  EXPECT_EQ(task->exit_code(), 5);
  EXPECT_NE(LogText(kKey, 0).find("term\n"), std::string::npos);
  EXPECT_NE(LogText(kKey, 0).find("child\n"), std::string::npos);
}

TEST_P(AgentStopTest, ADaemonThatIgnoresSigtermHoldsTheReleaseUntilItIsKilled) {
  StartAgent();
  Launch(kKey,
         "( setsid bash -c 'trap \"\" TERM; echo daemon $$; while :; do sleep 1000; done' & ) ; "
         "while ! [ -e ready ]; do sleep 0.01; done; exit 0",
         [&](v1::TaskLaunch& launch) { launch.set_workdir(folder_); });
  Send();
  const pid_t daemon = WaitPid(kKey, 0, "daemon ");
  ASSERT_GT(daemon, 0);
  ASSERT_TRUE(WriteFileAtomically(folder_ + "/ready", "", Durability::kProcess).ok());
  const auto exited = WaitTask(kKey, [&](const v1::ObservedTask& t) {
    return t.phase() == kExited && std::count(t.pids().begin(), t.pids().end(), daemon) == 1;
  });
  ASSERT_TRUE(exited) << "it came back to the shim and is told of";
  EXPECT_EQ(exited->exit_code(), 0);
  EXPECT_TRUE(IsRunning(daemon)) << "nobody asked for a stop";

  const auto begin = std::chrono::steady_clock::now();
  Stop(kKey, 300);
  Send();
  ASSERT_TRUE(WaitPhase(kKey, kReleased));
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(290)) << "SIGTERM comes first";
  EXPECT_FALSE(IsRunning(daemon));
}

TEST_P(AgentStopTest, AStopThatBeganCompletesWithoutAScheduler) {
  StartAgent();
  Launch(kKey, "trap '' TERM; echo pid $$; while :; do sleep 1000; done");
  Send();
  const pid_t rank = WaitPid(kKey, 0, "pid ");
  Stop(kKey, Slower(Seconds(3)).ms);  // not over before the scheduler is gone
  Send();
  const std::uint64_t revision = set_.revision();
  ASSERT_TRUE(scheduler_.WaitReport([&](const v1::NodeReport& r) { return r.revision() == revision; }));
  scheduler_.Refuse({grpc::StatusCode::UNAVAILABLE, "gone"});
  scheduler_.Disconnect();
  EXPECT_TRUE(IsRunning(rank));
  EXPECT_TRUE(Eventually([&] { return !IsRunning(rank); }));
}

TEST_P(AgentStopTest, AStopWithoutTermKillsAtOnce) {
  StartAgent();
  Launch(kKey, "trap 'echo term' TERM; echo up; while :; do sleep 1000; done");
  Send();
  WaitLine(kKey, 0, "up");
  Stop(kKey, 0);
  Send();
  const auto task = WaitPhase(kKey, kReleased);
  ASSERT_TRUE(task);
  EXPECT_EQ(task->exit_code(), 137);
  EXPECT_EQ(LogText(kKey, 0), "up\n");
}

TEST_P(AgentStopTest, AnUnknownTaskWithoutLaunchIsReportedLost) {
  StartAgent();
  Listed(kKey);
  Send();
  const auto task = WaitPhase(kKey, kReleased);
  ASSERT_TRUE(task);
  EXPECT_TRUE(task->lost());
  EXPECT_FALSE(task->start_failed());
  Unlist(kKey);
  Send();
  EXPECT_TRUE(scheduler_.WaitReport([](const v1::NodeReport& r) { return r.tasks_size() == 0; }));
}

TEST_P(AgentStopTest, AnOrphanIsReportedAndLeftAlone) {
  StartAgent();
  Launch(kKey, "echo pid $$; sleep 1000");
  Send();
  const pid_t rank = WaitPid(kKey, 0, "pid ");
  ASSERT_TRUE(WaitPhase(kKey, kRunning));  // the first line may come before the agent has seen the rank start
  Unlist(kKey);
  Send();
  const std::uint64_t revision = set_.revision();
  const auto report = scheduler_.WaitReport([&](const v1::NodeReport& r) { return r.revision() == revision; });
  ASSERT_TRUE(report);
  ASSERT_TRUE(FindTask(*report, kKey));
  EXPECT_EQ(FindTask(*report, kKey)->phase(), kRunning);
  EXPECT_TRUE(IsRunning(rank));
  Stop(kKey, 0);
  Send();
  EXPECT_TRUE(WaitPhase(kKey, kReleased)) << "an explicit stop ends an orphan, too";
}

TEST_P(AgentStopTest, AStaleSetIsIgnored) {
  StartAgent();
  set_.set_epoch(5);
  Launch(kKey, "echo pid $$; sleep 1000");
  Send();
  const pid_t rank = WaitPid(kKey, 0, "pid ");
  for (const auto& [epoch, revision] : {std::pair(4, 900), std::pair(5, 0)}) {
    v1::DesiredState stale = set_;
    stale.set_epoch(static_cast<std::uint64_t>(epoch));
    stale.set_revision(static_cast<std::uint64_t>(revision));
    stale.mutable_tasks(0)->clear_launch();
    stale.mutable_tasks(0)->mutable_stop()->set_term_ms(0);
    ASSERT_TRUE(scheduler_.SendOnce(stale));
  }
  Send();  // comes after them on the stream: when it is acknowledged, they have been looked at
  const std::uint64_t revision = set_.revision();
  const auto report = scheduler_.WaitReport([&](const v1::NodeReport& r) { return r.revision() == revision; });
  ASSERT_TRUE(report);
  EXPECT_EQ(report->epoch(), 5u);
  EXPECT_EQ(FindTask(*report, kKey)->phase(), kRunning);
  EXPECT_TRUE(IsRunning(rank));
}

// A fake scheduler with the highest epoch there is: its stop is not obeyed, and the real one is heard afterwards.
TEST_P(AgentStopTest, ASchedulerFarAheadOfTheClockIsNotBelieved) {
  StartAgent();
  Launch(kKey, "echo pid $$; sleep 1000");
  Send();
  const pid_t rank = WaitPid(kKey, 0, "pid ");
  v1::DesiredState fake = set_;
  fake.set_epoch(~std::uint64_t{0});
  fake.mutable_tasks(0)->clear_launch();
  fake.mutable_tasks(0)->mutable_stop()->set_term_ms(0);
  ASSERT_TRUE(scheduler_.SendOnce(fake));
  scheduler_.set_epoch(~std::uint64_t{0});
  ASSERT_TRUE(scheduler_.WaitHello(3)) << "it leaves that stream, and the next one's Welcome is no better";
  EXPECT_EQ(scheduler_.last_hello().epoch(), 1u);
  scheduler_.set_epoch(1);
  Send();
  const std::uint64_t revision = set_.revision();
  const auto report = scheduler_.WaitReport([&](const v1::NodeReport& r) { return r.revision() == revision; });
  ASSERT_TRUE(report);
  EXPECT_EQ(FindTask(*report, kKey)->phase(), kRunning);
  EXPECT_TRUE(IsRunning(rank));
  const auto log = ReadFile(folder_ + "/agent.log", 1 << 20);
  ASSERT_TRUE(log.ok());
  EXPECT_NE(log->find("event=refused code=9 reason=\"EPOCH_AHEAD\""), std::string::npos) << *log;
  EXPECT_NE(log->find("--scheduler"), std::string::npos) << "it says what to do";
}

TEST_P(AgentStopTest, AReleasedTaskIsForgottenWhenUnlisted) {
  StartAgent();
  Launch(kKey, "echo done");
  Send();
  ASSERT_TRUE(WaitPhase(kKey, kReleased));
  EXPECT_TRUE(std::filesystem::exists(TaskFolder(kKey)));
  Unlist(kKey);
  Send();
  EXPECT_TRUE(scheduler_.WaitReport([](const v1::NodeReport& r) { return r.tasks_size() == 0; }));
  EXPECT_FALSE(std::filesystem::exists(TaskFolder(kKey)));
  EXPECT_EQ(LogText(kKey, 0), "done\n") << "the log stays";
}

TEST_P(AgentStopTest, WithoutItsShimATaskIsStillFoundAndCanBeStopped) {
  StartAgent();
  Launch(kKey, "( setsid sleep 1000 & echo daemon $! ) ; echo pid $$; exec sleep 1000");
  Send();
  const pid_t rank = WaitPid(kKey, 0, "pid ");
  const pid_t daemon = WaitPid(kKey, 0, "daemon ");
  ASSERT_TRUE(WaitPhase(kKey, kRunning));
  SignalShim(kKey, SIGTERM);  // not one of the agent's: it takes no notice
  SignalShim(kKey, SIGKILL);
  const auto task = WaitTask(kKey, [&](const v1::ObservedTask& t) {
    return t.phase() == kExited && t.pids_size() == (in_container() ? 3 : 2);
  });
  ASSERT_TRUE(task);
  EXPECT_TRUE(task->lost());
  EXPECT_NE(task->message().find("supervisor"), std::string::npos);
  EXPECT_TRUE(IsRunning(rank));
  EXPECT_TRUE(IsRunning(daemon));
  Stop(kKey, 0);
  Send();
  ASSERT_TRUE(WaitPhase(kKey, kReleased));
  EXPECT_FALSE(IsRunning(rank));
  EXPECT_FALSE(IsRunning(daemon));
}

GLIM_FOR_EACH_RUNTIME(AgentStopTest);

}  // namespace
}  // namespace glim::nodeagent
