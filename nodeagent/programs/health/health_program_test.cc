// glim-health as the agent starts it: what it says of the kernel's log, what it remembers, and that whatever hangs
// holds up nothing else.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "nodeagent/os/spawn_process.h"
#include "nodeagent/programs/health/testing/health_child.h"
#include "sdk/base/testing/folders.h"
#include "sdk/io/read_file.h"
#include "sdk/io/unique_fd.h"

namespace glim::nodeagent::health {
namespace {

using testing::HasSubstr;

constexpr const char* kGpu = "0000:3b:00.0";

std::string XidSaid(int number) {
  return "NVRM: Xid (PCI:0000:3b:00): " + std::to_string(number) + ", pid=4711, GPU has fallen off the bus.";
}

std::vector<HealthLine> Xids(const HealthChild& child) {
  std::vector<HealthLine> xids;
  for (const HealthLine& line : child.Lines()) {
    if (line.finding.check == "xid") xids.push_back(line);
  }
  return xids;
}

TEST(HealthProgram, AnXidIsToldAtOnce) {
  HealthChild child;
  child.MakePipe();
  child.Start();
  ASSERT_TRUE(child.IsComplete());
  child.Say("usb 1-1: new high-speed USB device");
  child.Say(XidSaid(13), /*facility=*/1);
  child.Say(XidSaid(79));
  const auto line = child.Event("xid", kGpu);
  ASSERT_TRUE(line);
  EXPECT_EQ(line->finding.code, 79) << "and what a program wrote is not the kernel's";
  EXPECT_EQ(line->finding.pid, 4711);
  EXPECT_EQ(line->finding.text, XidSaid(79));
  EXPECT_GT(line->finding.at_ms, 1'600'000'000'000);
  EXPECT_EQ(line->boot, "11111111-2222-3333-4444-555555555555");
  EXPECT_EQ(Xids(child).size(), 1u);
}

TEST(HealthProgram, ARestartTellsTheSameNumbersAndWhatCameMeanwhile) {
  HealthChild child;
  child.Start();
  child.Say(XidSaid(79));
  const auto first = child.Event("xid", kGpu);
  ASSERT_TRUE(first);
  child.End(SIGKILL);
  child.Say(XidSaid(48));
  child.Start();
  ASSERT_TRUE(Eventually([&] { return Xids(child).size() >= 2; }));
  ASSERT_TRUE(child.IsComplete());
  const auto xids = Xids(child);
  ASSERT_EQ(xids.size(), 2u);
  EXPECT_EQ(xids[0], *first) << "no second number for it";
  EXPECT_EQ(xids[1].finding.code, 48);
  EXPECT_GT(xids[1].seq, first->seq);
}

TEST(HealthProgram, AnotherBootBeginsAnew) {
  HealthChild child;
  child.Start();
  child.Say(XidSaid(79));
  ASSERT_TRUE(child.Event("xid", kGpu));
  child.End(SIGKILL);
  child.Put("proc/sys/kernel/random/boot_id", "99999999-2222-3333-4444-555555555555\n");
  std::ofstream(child.Folder() + "/kmsg");  // the new kernel's log
  child.Start();
  ASSERT_TRUE(child.IsComplete());
  EXPECT_TRUE(Xids(child).empty());
  child.Say(XidSaid(48));
  const auto line = child.Event("xid", kGpu);
  ASSERT_TRUE(line);
  EXPECT_EQ(line->boot, "99999999-2222-3333-4444-555555555555");
}

TEST(HealthProgram, NumbersGrowWithoutTheFile) {
  HealthChild child;
  child.MakePipe();
  child.Start();
  ASSERT_TRUE(child.IsComplete());
  child.Say(XidSaid(79));
  const auto first = child.Event("xid", kGpu);
  ASSERT_TRUE(first);
  child.End(SIGKILL);
  std::ofstream(child.Folder() + "/health.json") << "{";
  child.Start();
  ASSERT_TRUE(child.IsComplete());
  child.Say(XidSaid(48));
  const auto second = child.Event("xid", kGpu);
  ASSERT_TRUE(second);
  EXPECT_GT(second->seq, first->seq);
}

TEST(HealthProgram, LinesThatNobodyReadAreCounted) {
  HealthChild child;
  child.Start();
  child.Say("words");
  ASSERT_TRUE(child.IsComplete());
  child.Skip(41);
  child.Say("more words");
  const auto line = child.Event("kernel_lines_lost", "");
  ASSERT_TRUE(line);
  EXPECT_EQ(line->finding.value, 41);
}

TEST(HealthProgram, ALogThatCannotBeReadIsSaid) {
  HealthChild child;
  ::unlink((child.Folder() + "/kmsg").c_str());
  child.Start();
  const auto line = child.Condition("health_blind", "kernel log");
  ASSERT_TRUE(line);
  EXPECT_THAT(line->finding.text, HasSubstr("No such file"));
  EXPECT_TRUE(child.IsComplete()) << "the rest is looked at";
  child.MakePipe();
  EXPECT_TRUE(child.IsOver("health_blind", "kernel log"));
}

// A pipe hangs whoever opens it, as a driver does.
TEST(HealthProgram, ASourceThatHangsIsSaidAndHoldsUpNothing) {
  HealthChild child;
  child.MakePipe();
  child.Put("sys/devices/system/edac/mc/mc0/dimm0/dimm_ue_count", "0\n");
  const std::string hangs = child.Root() + "/sys/devices/system/edac/mc/mc0/dimm0/dimm_ce_count";
  ASSERT_EQ(::mkfifo(hangs.c_str(), 0600), 0);
  child.Start();
  ASSERT_TRUE(child.Condition("health_blind", "memory"));
  child.Say(XidSaid(79));
  EXPECT_TRUE(child.Event("xid", kGpu));
  EXPECT_TRUE(child.IsComplete()) << "it is there, and what is blind is known";
  // It answers: whoever waits is let go, again and again.
  const auto answers = [&] {
    const UniqueFd pipe(::open(hangs.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
    if (pipe) (void)!::write(pipe.get(), "0\n", 2);
    return child.Find(HealthLine::Kind::kConditionOver, "health_blind", "memory").has_value();
  };
  EXPECT_TRUE(Eventually(answers));
}

TEST(HealthProgram, AWriteThatHangsIsASlowDisk) {
  HealthChild child;
  const std::string disk = child.Folder() + "/disk";
  ASSERT_EQ(::mkdir(disk.c_str(), 0700), 0);
  ASSERT_EQ(::mkfifo((disk + "/.glim-health-write").c_str(), 0600), 0);
  child.Start({"--folder", disk});
  const auto line = child.Condition("disk_slow", disk);
  ASSERT_TRUE(line);
  EXPECT_GT(line->finding.value, 5000 - 1);
}

TEST(HealthProgram, ItEndsWhenItIsTold) {
  HealthChild child;
  child.Start();
  ASSERT_TRUE(child.IsComplete());
  const int status = child.End(SIGTERM);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(HealthProgram, ItEndsWhenNobodyReadsIt) {
  HealthChild child;
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  UniqueFd read(ends[0]), write(ends[1]);
  const UniqueFd none(::open("/dev/null", O_RDWR | O_CLOEXEC));
  SpawnPlan plan;
  plan.arguments = {
      BuiltFile("bin/glim-health"),   "--kmsg", child.Folder() + "/kmsg", "--root", child.Root(), "--state",
      child.Folder() + "/health.json"};
  plan.fds = {{none.get(), 0}, {write.get(), 1}, {none.get(), 2}};
  pid_t pid = 0;
  ASSERT_EQ(SpawnProcess(plan, &pid), 0);
  write.Reset();
  char byte = 0;
  ASSERT_EQ(::read(read.get(), &byte, 1), 1) << "it speaks";
  read.Reset();
  EXPECT_TRUE(Eventually([&] { return ::waitpid(pid, nullptr, WNOHANG) == pid; }));
}

TEST(HealthProgram, ItHasNoRightsToSpare) {
  HealthChild child;
  child.Start();
  ASSERT_TRUE(child.IsComplete());
  const Result<std::string> status = ReadFile("/proc/" + std::to_string(child.pid()) + "/status", 1 << 16);
  ASSERT_TRUE(status.ok());
  EXPECT_THAT(*status, HasSubstr("NoNewPrivs:\t1"));
  const std::string syslog = ::geteuid() == 0 ? "0000000400000000" : "0000000000000000";
  EXPECT_THAT(*status, HasSubstr("CapPrm:\t" + syslog));
  EXPECT_THAT(*status, HasSubstr("CapEff:\t" + syslog));
  if (::geteuid() == 0) {
    EXPECT_THAT(*status, HasSubstr("CapBnd:\t" + syslog));
  }
}

}  // namespace
}  // namespace glim::nodeagent::health
