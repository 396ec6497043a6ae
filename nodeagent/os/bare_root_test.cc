// What reads a job's files sees programs and /proc, and nothing of the node that is anybody's.
#include "nodeagent/os/bare_root.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <sstream>
#include <string>

namespace glim::nodeagent {
namespace {

namespace fs = std::filesystem;

class BareRootTest : public testing::TestWithParam<bool> {};  // the parameter is for what only root may do

int InBareRoot(const std::function<int()>& body) {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(EnterBareRoot().ok() ? body() : 250);
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

TEST_P(BareRootTest, ShowsProgramsAndProcAndNothingElse) {
  const auto look = [] {
    const std::set<std::string> shown = {"/usr",   "/bin",    "/sbin", "/lib", "/lib32",
                                         "/lib64", "/libx32", "/proc", "/dev"};
    for (const fs::directory_entry& entry : fs::directory_iterator("/")) {
      if (!shown.contains(entry.path())) return 1;
    }
    for (const char* hidden : {"/etc", "/home", "/root", "/var", "/tmp", "/sys", "/dev/shm"}) {
      if (fs::exists(hidden)) return 2;
    }
    return fs::exists("/usr/bin/env") && fs::exists("/bin/sh") && fs::exists("/proc/self/status") ? 0 : 3;
  };
  EXPECT_EQ(InBareRoot(look), 0);
}

TEST_P(BareRootTest, ProgramsRunAndNothingCanBeWritten) {
  EXPECT_EQ(InBareRoot([] {
              ::execl("/bin/sh", "sh", "-c", "[ \"$(ls /usr | wc -l)\" -gt 3 ] && echo x 2>&1 > /dev/null && exit 7",
                      nullptr);
              return 1;
            }),
            7);
  EXPECT_EQ(InBareRoot([] {
              for (const char* path : {"/mine", "/usr/mine", "/dev/mine"}) {
                if (::open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600) >= 0 || errno != EROFS) return 1;
              }
              return 0;
            }),
            0);
}

TEST_P(BareRootTest, IsAnyUsersWhateverTheUmaskOfItsMakerIs) {
  const mode_t before = ::umask(0177);
  EXPECT_EQ(InBareRoot([] {
              if (::setresuid(4321, 4321, 4321) != 0) return 1;
              return ::open("/dev/null", O_RDWR | O_CLOEXEC) >= 0 && fs::exists("/usr/bin/env") ? 0 : 2;
            }),
            0);
  ::umask(before);
}

TEST_P(BareRootTest, HasNoNetwork) {
  EXPECT_EQ(InBareRoot([] {
              std::ifstream file("/proc/self/net/dev");
              std::string text((std::istreambuf_iterator<char>(file)), {});
              std::string line, names;
              std::istringstream lines(text);
              while (std::getline(lines, line)) {
                if (const auto colon = line.find(':'); colon != std::string::npos) names += line.substr(0, colon);
              }
              return names.find_first_not_of(' ') != std::string::npos &&
                             names.substr(names.find_first_not_of(' ')) == "lo"
                         ? 0
                         : 1;
            }),
            0);
}

TEST_P(BareRootTest, TheNodeIsAsBefore) {
  const std::string mine = "/tmp/glim-bare-root-" + std::to_string(::getpid());
  std::ofstream(mine) << "x";
  EXPECT_EQ(InBareRoot([] { return 0; }), 0);
  EXPECT_TRUE(fs::exists(mine)) << "its /tmp is the caller's alone";
  fs::remove(mine);
}

INSTANTIATE_TEST_SUITE_P(AsRoot, BareRootTest,
                         testing::ValuesIn(::geteuid() == 0 ? std::vector{true} : std::vector<bool>{}));
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(BareRootTest);

}  // namespace
}  // namespace glim::nodeagent
