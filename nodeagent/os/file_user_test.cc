// Files as another user: root's rights are gone, or the program is.
#include "nodeagent/os/file_user.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <string>
#include <vector>

#include "sdk/io/unique_fd.h"

namespace glim::nodeagent {
namespace {

constexpr uid_t kUser = 4321;

void GiveUp(int capability) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};
  if (::syscall(SYS_capget, &header, data) != 0) ::_exit(9);
  data[CAP_TO_INDEX(capability)].effective &= ~CAP_TO_MASK(capability);
  if (::syscall(SYS_capset, &header, data) != 0) ::_exit(9);
}

// The child's wait status. (It says why it aborts; that is not for this test's output.)
int InChild(const std::function<int()>& body) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::close(STDERR_FILENO);
    ::_exit(body());
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  return status;
}

// The parameter is for what only root may do: without root there is no instance.
class FileUserTest : public testing::TestWithParam<bool> {
 protected:
  FileUserTest() {
    const UniqueFd made(::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    EXPECT_TRUE(made);
  }
  ~FileUserTest() override { ::unlink(path_.c_str()); }
  bool MayRead() const { return bool{UniqueFd(::open(path_.c_str(), O_RDONLY | O_CLOEXEC))}; }

  const std::string path_ = "/tmp/glim-file-user-" + std::to_string(::getpid());
};

TEST_P(FileUserTest, HasThatUsersRightsAndGivesRootsBack) {
  ASSERT_TRUE(MayRead());
  {
    const FileUser as(kUser, kUser, {5001});
    EXPECT_FALSE(MayRead());
    ASSERT_EQ(::getgroups(0, nullptr), 1);
  }
  EXPECT_TRUE(MayRead());
}

TEST_P(FileUserTest, GoesOnAsRootNever) {
  for (const int capability : {CAP_SETUID, CAP_SETGID}) {
    const int status = InChild([capability] {
      GiveUp(capability);
      const FileUser as(kUser, kUser, {});
      return 0;
    });
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT) << capability;
  }
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(FileUserTest);
INSTANTIATE_TEST_SUITE_P(Root, FileUserTest,
                         testing::ValuesIn(::geteuid() == 0 ? std::vector<bool>{true} : std::vector<bool>{}),
                         [](const auto&) { return "Root"; });

}  // namespace
}  // namespace glim::nodeagent
