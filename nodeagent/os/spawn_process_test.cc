#include "nodeagent/os/spawn_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <string>
#include <utility>

#include "nodeagent/os/unified_group.h"
#include "sdk/io/read_file.h"
#include "sdk/io/unique_fd.h"

namespace glim::nodeagent {
namespace {

// What the program prints until it ends.
std::string Output(SpawnPlan plan) {
  int ends[2];
  EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd read(ends[0]);
  UniqueFd write(ends[1]);
  const UniqueFd none(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  plan.fds = {{none.get(), 0}, {write.get(), 1}, {write.get(), 2}};
  pid_t pid = 0;
  EXPECT_EQ(SpawnProcess(plan, &pid), 0);
  write.Reset();
  std::string text;
  char buffer[4096];
  for (ssize_t n = 0; (n = ::read(read.get(), buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<std::size_t>(n));
  }
  EXPECT_EQ(::waitpid(pid, nullptr, 0), pid);
  return text;
}

TEST(SpawnProcess, GivesExactlyWhatThePlanSays) {
  const int stray = ::open("/dev/null", O_RDONLY);  // one that would be inherited
  const std::string text = Output({{"/bin/sh", "-c", "pwd; env; ls /proc/self/fd | wc -l; ps -o sid= -p $$; echo $$"},
                                   {"NAME=value", "PATH=/usr/bin:/bin"},
                                   "/usr",
                                   "",
                                   {}});
  UniqueFd(stray).Reset();
  EXPECT_NE(text.find("/usr\n"), std::string::npos) << text;
  EXPECT_NE(text.find("NAME=value\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\n4\n"), std::string::npos) << "three, and the one that ls reads the folder by: " << text;
}

TEST(SpawnProcess, RunsOnItsCpusAndWithoutThoseThatTheMachineLacks) {
  cpu_set_t all;
  ASSERT_EQ(::sched_getaffinity(0, sizeof all, &all), 0);
  std::uint32_t last = 0;
  for (std::uint32_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &all)) last = cpu;
  }
  const auto allowed = [](std::vector<std::uint32_t> cpus) {
    SpawnPlan plan{{"/bin/grep", "Cpus_allowed_list", "/proc/self/status"}, {}, "", "", {}};
    plan.cpus = std::move(cpus);
    plan.memory = {1023};
    return Output(plan);
  };
  const std::string line = "Cpus_allowed_list:\t";
  EXPECT_EQ(allowed({last}), line + std::to_string(last) + "\n");
  EXPECT_EQ(allowed({last, 1023}), line + std::to_string(last) + "\n");
  EXPECT_EQ(allowed({1023, 5000}), allowed({})) << "none of them: it runs where the caller does";
}

TEST(SpawnProcess, StartsWithSignalsAtTheirDefault) {
  sigset_t all, before;
  sigfillset(&all);
  ::sigprocmask(SIG_BLOCK, &all, &before);
  ::signal(SIGUSR1, SIG_IGN);
  const std::string text = Output({{"/bin/grep", "-E", "Sig(Blk|Ign)", "/proc/self/status"}, {}, "", "", {}});
  ::signal(SIGUSR1, SIG_DFL);
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  EXPECT_EQ(text, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
}

TEST(SpawnProcess, SaysWhyItCannot) {
  pid_t pid = 0;
  EXPECT_EQ(SpawnProcess({{"/no/such/program"}, {}, "", "", {}}, &pid), ENOENT);
  EXPECT_EQ(SpawnProcess({{"/bin/true"}, {}, "/no/such/folder", "", {}}, &pid), ENOENT);
  EXPECT_EQ(SpawnProcess({{"/bin/true"}, {}, "", "/no/such/group", {}}, &pid), ENOENT);
  EXPECT_EQ(SpawnProcess({{"/bin/true", std::string(200'000, 'x')}, {}, "", "", {}}, &pid), E2BIG);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "nobody is left to be reaped";
}

TEST(SpawnProcess, BeginsWhenItsPidHasBeenNoted) {
  pid_t noted = 0;
  SpawnPlan plan{{"/bin/sh", "-c", "echo $$"}, {}, "", "", {}};
  plan.note = [&](pid_t pid) {
    noted = pid;
    EXPECT_NE(*ReadFile("/proc/" + std::to_string(pid) + "/comm", 100), "sh\n");
  };
  const std::string said = Output(std::move(plan));
  EXPECT_EQ(said, std::to_string(noted) + "\n");
}

TEST(SpawnProcess, NeverBeginsIfItsCallerEndsBeforeItsPidIsNoted) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd read(ends[0]);
  UniqueFd write(ends[1]);
  const pid_t caller = ::fork();
  if (caller == 0) {
    SpawnPlan plan{{"/bin/echo", "it began"}, {}, "", "", {{write.get(), 0}, {write.get(), 1}, {write.get(), 2}}};
    plan.note = [](pid_t) { ::raise(SIGKILL); };
    pid_t pid = 0;
    SpawnProcess(plan, &pid);
    ::_exit(0);
  }
  write.Reset();
  EXPECT_EQ(::waitpid(caller, nullptr, 0), caller);
  char word = 0;
  EXPECT_EQ(::read(read.get(), &word, 1), 0) << "it wrote something, and has ended now";
}

}  // namespace
}  // namespace glim::nodeagent
