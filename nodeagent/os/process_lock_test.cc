// Who has the lock when processes fork and are killed.
#include "nodeagent/os/process_lock.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "sdk/io/testing/temp_folder.h"

namespace glim::nodeagent {
namespace {

// A process that runs `body`, which writes one byte to the pipe when it has got where the test wants it.
struct Held {
  explicit Held(const std::function<void(int say)>& body) {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    pid = ::fork();
    if (pid == 0) {
      body(ends[1]);
      ::_exit(0);
    }
    ::close(ends[1]);
    char said = 0;
    EXPECT_EQ(::read(ends[0], &said, 1), 1);
    ::close(ends[0]);
  }
  void Kill() const {
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
  }
  pid_t pid = 0;
};

TEST(ProcessLock, IsOnesUntilThatOneEnds) {
  const TempFolder folder;
  const std::string path = folder.path() + "/lock";
  const Held owner([&](int say) {
    const auto lock = ProcessLock::Take(path);
    if (lock.ok()) (void)!::write(say, "x", 1);
    ::pause();
  });
  EXPECT_EQ(ProcessLock::Take(path).status().code(), StatusCode::kAlreadyExists);
  owner.Kill();
  EXPECT_TRUE(ProcessLock::Take(path).ok());
  EXPECT_EQ(ProcessLock::Take(folder.path() + "/none/lock").status().code(), StatusCode::kNotFound);
}

// As an agent that is killed while its prolog's process is there and the prolog has not begun: that process may hang,
// before a folder that does not answer or a control group, for as long as it likes.
TEST(ProcessLock, IsNotLeftWithAChildThatHasNotBegunItsProgram) {
  const TempFolder folder;
  const std::string path = folder.path() + "/lock";
  int pids[2];
  ASSERT_EQ(::pipe(pids), 0);
  const Held owner([&](int say) {
    const auto lock = ProcessLock::Take(path);
    if (!lock.ok()) return;
    const pid_t child = ::fork();
    if (child == 0) {  // no exec: every descriptor is still open
      const pid_t self = ::getpid();
      (void)!::write(pids[1], &self, sizeof self);
      (void)!::write(say, "x", 1);
    }
    ::pause();
  });
  pid_t child = 0;
  ASSERT_EQ(::read(pids[0], &child, sizeof child), static_cast<ssize_t>(sizeof child));
  EXPECT_FALSE(ProcessLock::Take(path).ok());
  owner.Kill();
  ASSERT_EQ(::kill(child, 0), 0) << "it hangs there still";
  EXPECT_TRUE(ProcessLock::Take(path).ok());
  ::kill(child, SIGKILL);
  ::close(pids[0]);
  ::close(pids[1]);
}

}  // namespace
}  // namespace glim::nodeagent
