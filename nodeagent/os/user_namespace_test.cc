#include "nodeagent/os/user_namespace.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

namespace glim::nodeagent {
namespace {

// In a namespace of the test's own, where another number of them may be allowed: none. Where this process gets no
// namespace at all, that is said, too.
TEST(UserNamespaces, ThatAreNotThereAreSaidWithTheReason) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (::unshare(CLONE_NEWUSER) == 0) std::ofstream("/proc/sys/user/max_user_namespaces") << 0;
    ::_exit(WhyNoUserNamespaces().empty() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST(UserNamespaces, LeaveTheAskerWhereItIs) {
  const uid_t before = ::geteuid();
  (void)WhyNoUserNamespaces();
  EXPECT_EQ(::geteuid(), before);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "no child is left";
}

}  // namespace
}  // namespace glim::nodeagent
