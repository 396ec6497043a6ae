// Readers below a root folder of the test's own; looks that hang; programs that do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>

#include "cli/doctor/look.h"
#include "cli/doctor/machine.h"
#include "cli/doctor/node_looks.h"
#include "cli/doctor/program.h"
#include "cli/doctor/roles.h"
#include "sdk/base/duration_text.h"
#include "sdk/base/testing/waits.h"
#include "sdk/io/testing/temp_folder.h"

namespace glim::cli::doctor {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Readers : public testing::Test {
 protected:
  void Write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(folder_.path() + path).parent_path());
    std::ofstream(folder_.path() + path) << text;
  }

  const TempFolder folder_;
  const Machine machine_{folder_.path()};
};

TEST_F(Readers, AMachineIsWhatItsUnitsAndFilesSay) {
  EXPECT_THAT(FindRoles(machine_), ElementsAre(Role::kClient));
  Write("/etc/glim/agent.yaml", "");
  Write("/etc/glim/scheduler.yaml", "");
  EXPECT_THAT(FindRoles(machine_), ElementsAre(Role::kNode, Role::kServer));
  // The installation lays examples of both everywhere: the units count more.
  const std::string wants = folder_.path() + "/etc/systemd/system/multi-user.target.wants";
  std::filesystem::create_directories(wants);
  std::filesystem::create_symlink("/nowhere", wants + "/glim-scheduler.service");
  EXPECT_THAT(FindRoles(machine_), ElementsAre(Role::kServer));
}

TEST_F(Readers, ControlGroupsOfEitherVersion) {
  EXPECT_FALSE(ReadCgroups(machine_, "").version_1);
  std::filesystem::create_directories(folder_.path() + "/sys/fs/cgroup/memory");
  EXPECT_TRUE(ReadCgroups(machine_, "").version_1);
  EXPECT_THAT(ReadCgroups(machine_, "").controllers, ElementsAre("memory"));
  Write("/sys/fs/cgroup/cgroup.controllers", "cpu memory pids\n");
  Write("/sys/fs/cgroup/glim/cgroup.controllers", "cpu\n");
  EXPECT_TRUE(ReadCgroups(machine_, "").unified);
  EXPECT_THAT(ReadCgroups(machine_, "").controllers, ElementsAre("cpu", "memory", "pids"));
  EXPECT_THAT(ReadCgroups(machine_, "/glim").controllers, ElementsAre("cpu"));
  EXPECT_THAT(ReadCgroups(machine_, "/not-made").controllers, ElementsAre("cpu", "memory", "pids"));
}

TEST_F(Readers, CardsAndInterfaces) {
  const std::string port = "/sys/class/infiniband/mlx5_0/ports/1/";
  Write(port + "state", "4: ACTIVE\n");
  Write(port + "link_layer", "InfiniBand\n");
  Write(port + "rate", "200 Gb/sec (4X HDR)\n");
  Write("/sys/class/net/lo/operstate", "unknown\n");
  Write("/sys/class/net/eth0/operstate", "up\n");
  Write("/sys/class/net/eth0/speed", "25000\n");
  const NetworkFacts facts = ReadNetwork(machine_);
  ASSERT_EQ(facts.rdma.size(), 1U);
  EXPECT_EQ(facts.rdma[0].name, "mlx5_0:1");
  EXPECT_EQ(facts.rdma[0].state, "ACTIVE");
  ASSERT_EQ(facts.interfaces.size(), 1U);
  EXPECT_TRUE(facts.interfaces[0].up);
  EXPECT_EQ(facts.interfaces[0].mbit, 25000);
}

TEST_F(Readers, TheSharedRootIsFoundByItsMarker) {
  const std::vector<std::string> folders = {"/data", "/shared", "/data2"};
  EXPECT_EQ(ReadSharedRoot(machine_, folders, "").root, "");
  Write("/shared/glim/.glim-root-c1", "00\n");
  std::filesystem::create_directories(folder_.path() + "/shared/glim/jobs/7");
  const SharedRootFacts facts = ReadSharedRoot(machine_, folders, "");
  EXPECT_EQ(facts.root, "/shared/glim");
  EXPECT_TRUE(facts.jobs.folder);
  EXPECT_EQ(facts.of_nobody, 0);
  EXPECT_THAT(facts.missing, ElementsAre("/data2")) << "/data is the default's, which need not be there";
  EXPECT_THAT(ReadSharedRoot(machine_, folders, "/elsewhere").missing, ElementsAre("/data2", "/elsewhere"));
}

TEST_F(Readers, ProgramsBesideTheAgent) {
  for (const char* name : {"glim-shim", "glim-health", "glim-image", "glim-init", "glim-inventory", "glim-paths",
                           "glim-unpack", "glim-task"}) {
    Write(std::string("/opt/bin/") + name, "");
    ::chmod((folder_.path() + "/opt/bin/" + name).c_str(), 0755);
  }
  EXPECT_THAT(ReadPrograms(machine_, "/opt/bin/glim-agent", "").missing, IsEmpty());
  EXPECT_FALSE(ReadPrograms(machine_, "/opt/bin/glim-agent", "").sdk_there);
  std::filesystem::create_directories(folder_.path() + "/opt/share/glim/sdk");
  EXPECT_TRUE(ReadPrograms(machine_, "/opt/bin/glim-agent", "").sdk_there);
  ::chmod((folder_.path() + "/opt/bin/glim-init").c_str(), 0644);
  // Root may run what has a bit of x somewhere, and this has none.
  EXPECT_THAT(ReadPrograms(machine_, "/opt/bin/glim-agent", "").missing, ElementsAre("glim-init"));
}

TEST_F(Readers, WhoListensAndWithWhichLimits) {
  Write("/proc/net/tcp",
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
        "   0: 0100007F:1DB1 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4711 1 0 100 0\n"
        "   1: 0100007F:1DB2 0100007F:1DB1 01 00000000:00000000 00:00000000 00000000     0        0 4712 1 0 100 0\n");
  Write("/proc/12/comm", "glim-scheduler\n");
  Write("/proc/12/limits", "Max open files            1024                 65536                files\n");
  EXPECT_TRUE(WhoListens(machine_, 7601).taken);
  EXPECT_EQ(WhoListens(machine_, 7601).program, "") << "nobody may look";
  std::filesystem::create_directories(folder_.path() + "/proc/12/fd");
  std::filesystem::create_symlink("socket:[4711]", folder_.path() + "/proc/12/fd/5");
  EXPECT_EQ(WhoListens(machine_, 7601).program, "glim-scheduler");
  EXPECT_FALSE(WhoListens(machine_, 7602).taken) << "a connection is no listener";
  EXPECT_EQ(ReadLimitsOf(machine_, "glim-scheduler").open_files_hard, 65536);
  EXPECT_FALSE(ReadLimitsOf(machine_, "glim-agent").found);
  EXPECT_EQ(PortOf("0.0.0.0:7601"), 7601);
  EXPECT_EQ(PortOf("none"), 0);
}

TEST_F(Readers, WhoListensIsFoundBehindTensOfThousandsOfConnections) {
  std::string table =
      "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n";
  const std::string rest = " 00000000:00000000 00:00000000 00000000     0        0 4712 1 0 100 0\n";
  for (int i = 0; i < 20'000; ++i) table += "   1: 0100007F:1DB2 0100007F:1DB1 06" + rest;
  Write("/proc/net/tcp", table + "   0: 0100007F:1DB1 00000000:0000 0A" + rest);
  EXPECT_TRUE(WhoListens(machine_, 7601).taken);
}

TEST(AgentWordsTest, AreThoseOfTheUnitsFile) {
  EXPECT_THAT(AgentWords("# words\nGLIM_AGENT_OPTIONS=\"--config /a.yaml  --zone B\"\n"),
              ElementsAre("--config", "/a.yaml", "--zone", "B"));
  EXPECT_THAT(AgentWords("# GLIM_AGENT_OPTIONS=--zone\n"), IsEmpty());
}

TEST(Programs, AreBoundInTime) {
  const ProgramEnd good = RunProgram({"/bin/sh", "-c", "echo out; echo err >&2; exit 3"}, LongWaitDuration());
  EXPECT_TRUE(good.in_time);
  EXPECT_EQ(good.code, 3);
  EXPECT_EQ(good.out, "out\n");
  EXPECT_EQ(good.err, "err\n");
  const auto begin = std::chrono::steady_clock::now();
  const ProgramEnd hung = RunProgram({"/bin/sh", "-c", "echo begun; exec sleep 60"}, Milliseconds(300));
  EXPECT_FALSE(hung.in_time);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, Slower(std::chrono::seconds(30))) << "not its sixty";
  EXPECT_FALSE(RunProgram({"/no/such/program"}, Seconds(1)).started);
}

TEST(Looks, WhatHangsIsAFaultAndKeepsNobody) {
  // Held until the process ends: the look is left behind.
  auto never = std::make_shared<std::promise<void>>();
  const std::shared_future<void> end = never->get_future().share();
  const auto said = std::make_shared<std::promise<void>>();
  std::vector<Look> looks;
  looks.push_back({Role::kClient, {"resolve", "port"}, [end, said](Notebook& notebook) {
                     notebook.Say("resolve", Good("head is 10.0.0.1"));
                     said->set_value();
                     end.wait();
                   }});
  looks.push_back(LookAt(Role::kClient, "clock", [said = said->get_future().share()] {
    said.wait();
    return Good("in time");
  }));
  const Duration bound = Slower(Seconds(3));  // long enough for those that answer
  const auto findings = RunLooks(looks, bound);
  ASSERT_EQ(findings.size(), 3U);
  EXPECT_EQ(findings[0].outcome.seen, "head is 10.0.0.1");
  EXPECT_EQ(findings[1].outcome.verdict, Verdict::kFault);
  EXPECT_THAT(findings[1].outcome.seen, HasSubstr("did not answer within " + RoundedDurationText(bound)));
  EXPECT_EQ(findings[2].outcome.seen, "in time");
  never->set_value();
}

}  // namespace
}  // namespace glim::cli::doctor
