// What the agent tells of its node's hardware: from a line of the kernel's to the report, over restarts of both
// programs, and when glim-health says nothing any more.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <filesystem>
#include <optional>

#include "nodeagent/os/processes.h"
#include "nodeagent/services/health_watch.h"
#include "nodeagent/testing/agent_fixture.h"
#include "sdk/io/read_file.h"
#include "sdk/io/testing/temp_folder.h"
#include "sdk/io/unique_fd.h"
#include "sdk/io/write_file.h"

namespace glim::nodeagent {
namespace {

class AgentHealthTest : public AgentTest {
 protected:
  void SetUp() override { ASSERT_EQ(::mkfifo(Kmsg().c_str(), 0600), 0); }

  std::string Kmsg() const { return root_ + "/kmsg"; }
  void StartWatching() {
    const int before = scheduler_.hellos();
    StartAgent({"--health", "yes", "--health-kmsg", Kmsg(), "--health-root", root_ + "/machine"});
    ASSERT_TRUE(scheduler_.WaitHello(before + 1));
    ASSERT_TRUE(scheduler_.WaitReport([](const v1::NodeReport& report) { return !report.health_boot().empty(); }));
  }
  void SayXid(int number) {
    UniqueFd log;
    const auto is_read = [&] {
      log.Reset(::open(Kmsg().c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
      return static_cast<bool>(log);
    };
    ASSERT_TRUE(Eventually(is_read)) << "nobody reads the log";
    const std::string record = "4," + std::to_string(++seq_) +
                               ",1,-;NVRM: Xid (PCI:0000:3b:00): " + std::to_string(number) + ", pid=12, words\n";
    ASSERT_EQ(::write(log.get(), record.data(), record.size()), static_cast<ssize_t>(record.size()));
  }
  std::optional<v1::NodeReport> WaitEvents(int count) {
    return scheduler_.WaitReport([&](const v1::NodeReport& r) { return r.health_events_size() >= count; });
  }
  // 0: there is none. Its helper is the same program.
  pid_t HealthPid() const {
    std::error_code error;
    for (const ProcessInfo& process : ListProcesses()) {
      if (process.parent != agent_) continue;
      const std::string entry = "/proc/" + std::to_string(process.pid);
      const auto program = std::filesystem::read_symlink(entry + "/exe", error);
      const auto arguments = ReadFile(entry + "/cmdline", 1 << 16);
      if (program.filename() == "glim-health" && arguments.ok() && arguments->find("--kmsg") != std::string::npos) {
        return process.pid;
      }
    }
    return 0;
  }
  // One that is about to end reads the log still, and would take a line with it.
  void AwaitHealthEnd(pid_t health) {
    EXPECT_TRUE(Eventually([&] { return !IsRunning(health); }));
  }

  int seq_ = 0;
};

TEST_P(AgentHealthTest, AKernelLineIsReportedAndKnownAfterARestart) {
  StartWatching();
  SayXid(79);
  const auto report = WaitEvents(1);
  ASSERT_TRUE(report);
  const v1::HealthEvent first = report->health_events(0);
  EXPECT_EQ(first.check(), "xid");
  EXPECT_EQ(first.device(), "0000:3b:00.0");
  EXPECT_EQ(first.code(), 79);
  EXPECT_EQ(first.pid(), 12);
  EXPECT_EQ(report->health_boot(), *ReadBootId());

  const pid_t health = HealthPid();
  KillAgent();
  AwaitHealthEnd(health);
  StartWatching();
  const auto again = WaitEvents(1);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->health_events(0).seq(), first.seq()) << "under the number that it had";
  SayXid(48);
  const auto both = WaitEvents(2);
  ASSERT_TRUE(both);
  ASSERT_EQ(both->health_events_size(), 2);
  EXPECT_EQ(both->health_events(0).seq(), first.seq());
  EXPECT_EQ(both->health_events(1).code(), 48);
  EXPECT_GT(both->health_events(1).seq(), first.seq());
}

TEST_P(AgentHealthTest, GlimHealthIsStartedAgainAndEndsWithItsAgent) {
  StartWatching();
  const pid_t first = HealthPid();
  ASSERT_GT(first, 0);
  ::kill(first, SIGKILL);
  AwaitHealthEnd(first);
  ASSERT_TRUE(Eventually([&] { return HealthPid() > 0; }));
  SayXid(79);
  EXPECT_TRUE(WaitEvents(1));
  const pid_t second = HealthPid();
  EXPECT_EQ(EndAgent(), 0);
  AwaitHealthEnd(second);
  StartWatching();
  const pid_t third = HealthPid();
  KillAgent();
  EXPECT_TRUE(Eventually([&] { return !IsRunning(third); })) << "also when it is killed";
}

TEST_P(AgentHealthTest, NobodyLooksUnlessAsked) {
  StartAgent();
  const auto report = scheduler_.WaitReport([](const v1::NodeReport&) { return true; });
  ASSERT_TRUE(report);
  EXPECT_EQ(report->health_boot(), "");
  EXPECT_EQ(HealthPid(), 0);
}

TEST_P(AgentHealthTest, AnUnknownWordIsRefused) {
  StartAgent({"--health", "maybe"});
  EXPECT_EQ(AwaitAgent(), 2);
  EXPECT_THAT(AgentLog(), testing::HasSubstr("--health \"maybe\" is unknown: use auto, yes or no"));
}

// A script stands for glim-health.
class HealthWatchTest : public testing::Test {
 protected:
  // `silence`: after which glim-health is taken to hang. A test that is not about it must not see it.
  void Start(const std::string& script, std::chrono::milliseconds silence = LongWait(),
             std::chrono::milliseconds gpus = LongWait()) {
    const std::string program = folder_.path() + "/glim-health";
    ASSERT_TRUE(WriteFileAtomically(program, "#!/bin/sh\n" + script, {Durability::kProcess, 0755, false}).ok());
    const HealthTimes times{silence, std::chrono::milliseconds(10), std::chrono::milliseconds(50), gpus, gpus};
    watch_.emplace(io_, std::vector<std::string>{program}, times, [this] { ++changes_; });
    watch_->Start();
  }
  v1::NodeReport Report() const {
    v1::NodeReport report;
    watch_->Report(&report);
    return report;
  }
  bool Until(const std::function<bool(const v1::NodeReport&)>& check) {
    const auto until = std::chrono::steady_clock::now() + LongWait();
    while (!check(Report()) && std::chrono::steady_clock::now() < until) io_.run_one_for(std::chrono::milliseconds(50));
    return check(Report());
  }
  static bool Has(const v1::NodeReport& report, const std::string& check) {
    for (const v1::HealthCondition& condition : report.health_conditions()) {
      if (condition.check() == check) return true;
    }
    return false;
  }
  static std::string Line(const std::string& kind, const std::string& check, int seq = 0) {
    return "echo '{\"kind\":\"" + kind + "\",\"boot\":\"b\",\"check\":\"" + check +
           "\",\"device\":\"d\",\"code\":1,\"text\":\"t\",\"value\":0,\"expected\":0,\"unit\":\"\",\"at_ms\":1,"
           "\"pid\":0,\"seq\":" +
           std::to_string(seq) + "}'\n";
  }
  static std::string Alive(bool complete) {
    return std::string("echo '{\"kind\":\"alive\",\"boot\":\"b\",\"complete\":") + (complete ? "true" : "false") +
           "}'\n";
  }

  const TempFolder folder_;
  boost::asio::io_context io_;
  std::optional<HealthWatch> watch_;
  int changes_ = 0;
};

TEST_F(HealthWatchTest, SilenceIsSaidAndEndedByANewStart) {
  const std::string silent = folder_.path() + "/silent";
  Start("[ -e " + silent + " ] && exec sleep 1000\n" + Alive(true) + "touch " + silent + "\nexec sleep 1000\n",
        std::chrono::milliseconds(500));
  EXPECT_TRUE(Until([](const v1::NodeReport& report) { return Has(report, "health_blind"); }));
  std::filesystem::remove(silent);
  EXPECT_TRUE(Until([](const v1::NodeReport& report) { return !Has(report, "health_blind"); })) << "it speaks again";
  watch_->Stop();
}

TEST_F(HealthWatchTest, AProgramThatIsNotThereIsSaid) {
  watch_.emplace(
      io_, std::vector<std::string>{folder_.path() + "/none"},
      HealthTimes{std::chrono::milliseconds(50), std::chrono::milliseconds(10), std::chrono::milliseconds(50)},
      [this] { ++changes_; });
  watch_->Start();
  EXPECT_TRUE(Until([](const v1::NodeReport& report) { return Has(report, "health_blind"); }));
  watch_->Stop();
}

// A condition outlives a start of glim-health that has not looked yet.
TEST_F(HealthWatchTest, ConditionsStayUntilTheNextOneHasLookedAtAll) {
  const std::string second = folder_.path() + "/second", look = folder_.path() + "/look";
  Start("if [ -e " + second + " ]; then " + Alive(false) + "while [ ! -e " + look + " ]; do sleep 0.02; done\n" +
        Line("condition", "link_slow") + Alive(true) + "exec sleep 1000; fi\ntouch " + second + "\n" +
        Line("condition", "link_down") + Line("condition", "link_slow") + Alive(true) + "exit 0\n");
  EXPECT_TRUE(Until([&](const v1::NodeReport& r) { return Has(r, "link_down") && Has(r, "link_slow"); }));
  EXPECT_TRUE(Until([&](const v1::NodeReport&) { return std::filesystem::exists(second); }));
  EXPECT_TRUE(Has(Report(), "link_down"));
  ASSERT_TRUE(WriteFileAtomically(look, "", Durability::kProcess).ok());
  EXPECT_TRUE(Until([&](const v1::NodeReport& r) { return !Has(r, "link_down") && Has(r, "link_slow"); }));
  watch_->Stop();
}

TEST_F(HealthWatchTest, GpusThatComputeAreToldNowAndThenUntilNobodyLooks) {
  const std::string busy = folder_.path() + "/busy", quiet = folder_.path() + "/quiet";
  const auto gpus = [](const char* first) {
    return std::string("echo '{\"kind\":\"gpus\",\"boot\":\"b\",\"gpus\":[{\"pci\":\"g0\",\"busy\":") + first +
           "},{\"pci\":\"g1\",\"busy\":false}]}'\n";
  };
  Start("while [ ! -e " + quiet + " ]; do " + Alive(true) + "if [ -e " + busy + " ]; then " + gpus("true") + "else " +
            gpus("false") + "fi\nsleep 0.02; done\nwhile true; do " + Alive(true) + "sleep 0.1; done\n",
        LongWait(), std::chrono::milliseconds(400));
  EXPECT_EQ(watch_->GpusBusyAt(), std::nullopt) << "nobody has looked yet";
  std::optional<TimePoint> busy_at;
  const auto is_busy_after = [&](TimePoint before) {
    return Until([&](const v1::NodeReport&) { return (busy_at = watch_->GpusBusyAt()) > before; });
  };
  EXPECT_TRUE(Until([&](const v1::NodeReport&) { return watch_->GpusBusyAt() == TimePoint{}; })) << "they are idle";
  ASSERT_TRUE(WriteFileAtomically(busy, "", Durability::kProcess).ok());
  ASSERT_TRUE(is_busy_after(TimePoint{}));
  const TimePoint first = *busy_at;
  ASSERT_TRUE(is_busy_after(first));
  EXPECT_GE((*busy_at - first).ms, 400) << "not with each look";
  ASSERT_TRUE(WriteFileAtomically(quiet, "", Durability::kProcess).ok());
  EXPECT_TRUE(Until([&](const v1::NodeReport&) { return watch_->GpusBusyAt() == std::nullopt; }))
      << "the driver hangs, and glim-health does not";
  EXPECT_FALSE(Has(Report(), "health_blind"));
  watch_->Stop();
}

TEST_F(HealthWatchTest, GarbageIsLeftAlone) {
  Start("echo words; head -c 100000 /dev/zero | tr '\\0' x; echo; printf '\\377\\n'\n" + Line("event", "xid", 7) +
        Line("event", "xid", 7) + Alive(true) + "exec sleep 1000\n");
  EXPECT_TRUE(Until([](const v1::NodeReport& r) { return r.health_events_size() == 1; }));
  EXPECT_EQ(Report().health_events(0).seq(), 7u);
  watch_->Stop();
}

TEST_F(HealthWatchTest, TheNewestEventsAreKept) {
  std::string script;
  for (int seq = 1; seq <= 100; ++seq) script += Line("event", "xid", seq);
  Start(script + Alive(true) + "exec sleep 1000\n");
  EXPECT_TRUE(Until([](const v1::NodeReport& r) {
    return r.health_events_size() == 64 && r.health_events(0).seq() == 37 && r.health_events(63).seq() == 100;
  }));
  EXPECT_EQ(changes_, 100);
  watch_->Stop();
}

GLIM_FOR_EACH_RUNTIME(AgentHealthTest);

}  // namespace
}  // namespace glim::nodeagent
