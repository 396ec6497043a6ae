// Another user for good: with the rights of that user's programs, in a container's user namespace, too, and no others.
#include "nodeagent/os/become_user.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <string>

#include "sdk/base/testing/waits.h"

namespace glim::nodeagent {
namespace {

constexpr uid_t kUser = 4321, kAnother = 4322;

int InChild(const std::function<int()>& body) {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(body());
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

// A program of kUser as in a container: in a user namespace that root has made, where it is itself.
class Contained {
 public:
  Contained() {
    int made[2], mapped[2];
    if (::pipe(made) != 0 || ::pipe(mapped) != 0) std::abort();
    pid_ = ::fork();
    if (pid_ == 0) {
      ::close(mapped[1]);
      char word = ::unshare(CLONE_NEWUSER) == 0 ? 'y' : 'n';
      (void)!::write(made[1], &word, 1);
      if (::read(mapped[0], &word, 1) != 1) ::_exit(1);
      if (::setresgid(kUser, kUser, kUser) != 0 || ::setresuid(kUser, kUser, kUser) != 0) ::_exit(2);
      ::execl("/bin/sleep", "sleep", "1000", nullptr);
      ::_exit(3);
    }
    char word = 'n';
    ok_ = ::read(made[0], &word, 1) == 1 && word == 'y';
    for (const char* map : {"uid_map", "gid_map"})
      std::ofstream("/proc/" + std::to_string(pid_) + "/" + map) << "4321 4321 1\n";
    (void)!::write(mapped[1], &word, 1);
    for (const int fd : {made[0], made[1], mapped[0], mapped[1]}) ::close(fd);
    ok_ = ok_ && Eventually([this] { return Name() == "sleep"; });
  }
  ~Contained() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  bool ok() const { return ok_; }
  pid_t pid() const { return pid_; }

 private:
  std::string Name() const {
    std::string name;
    std::ifstream("/proc/" + std::to_string(pid_) + "/comm") >> name;
    return name;
  }
  pid_t pid_ = -1;
  bool ok_ = false;
};

std::string OwnStatus(const std::string& key) {
  std::ifstream file("/proc/thread-self/status");
  std::string word, value;
  while (file >> word) {
    if (word == key + ":" && file >> value) return value;
  }
  return "";
}

// 0: it may be looked at. It is left stopped, and let go by the caller's end.
int Looks(pid_t pid) { return ::ptrace(PTRACE_SEIZE, pid, nullptr, nullptr) == 0 ? 0 : errno; }

class BecomeUserTest : public testing::TestWithParam<bool> {};  // the parameter is for what only root may do

TEST_P(BecomeUserTest, HasTheRightsOfTheUsersProgramsInAContainer) {
  const Contained program;
  ASSERT_TRUE(program.ok());
  const UniqueFd there = OtherUserNamespaceOf(program.pid());
  ASSERT_TRUE(there);
  EXPECT_EQ(InChild([&] { return BecomeUser(kUser, kUser, {}, there).ok() ? Looks(program.pid()) : 250; }), 0);
  EXPECT_EQ(InChild([&] { return BecomeUser(kUser, kUser, {}, UniqueFd()).ok() ? Looks(program.pid()) : 250; }), EPERM)
      << "from outside";
  EXPECT_EQ(InChild([&] { return BecomeUser(kAnother, kAnother, {}, there).ok() ? Looks(program.pid()) : 250; }), EPERM)
      << "another user's are none of its";
}

TEST_P(BecomeUserTest, HasNoOthersAndGetsNone) {
  const Contained program;
  ASSERT_TRUE(program.ok());
  const UniqueFd there = OtherUserNamespaceOf(program.pid());
  const auto rights = [](const UniqueFd& place) {
    if (!BecomeUser(kUser, kUser, {}, place).ok()) return 1;
    if (OwnStatus("CapPrm") != "0000000000000000" || OwnStatus("CapEff") != "0000000000000000") return 2;
    if (OwnStatus("NoNewPrivs") != "1" || ::getuid() != kUser || ::getgid() != kUser) return 3;
    return ::setresuid(0, 0, 0) == 0 ? 4 : 0;
  };
  EXPECT_EQ(InChild([&] { return rights(there); }), 0);
  EXPECT_EQ(InChild([&] { return rights(UniqueFd()); }), 0);
}

TEST_P(BecomeUserTest, ItsOwnNamespaceIsNoOther) {
  EXPECT_FALSE(OtherUserNamespaceOf(::getpid()));
  EXPECT_FALSE(OtherUserNamespaceOf(0)) << "nor is what is not there";
}

INSTANTIATE_TEST_SUITE_P(AsRoot, BecomeUserTest,
                         testing::ValuesIn(::geteuid() == 0 ? std::vector{true} : std::vector<bool>{}));
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(BecomeUserTest);

}  // namespace
}  // namespace glim::nodeagent
