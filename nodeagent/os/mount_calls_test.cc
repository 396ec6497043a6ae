#include "nodeagent/os/mount_calls.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <filesystem>

#include "sdk/io/testing/temp_folder.h"

namespace glim::nodeagent {
namespace {

namespace fs = std::filesystem;

// The calling process cannot use this system call any more, as if its kernel did not know it.
bool Forget(int call) {
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(call), 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter{std::size(program), program};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

TEST(MountCalls, AKernelThatLacksOneIsNamedByIt) {
  if (::geteuid() != 0) {
    EXPECT_NE(WhyNoMountCalls(), "") << "only root may mount";
    return;
  }
  EXPECT_EQ(WhyNoMountCalls(), "");
  const std::pair<int, std::string> calls[] = {{SYS_openat2, "openat2"},
                                               {SYS_open_tree, "open_tree"},
                                               {SYS_mount_setattr, "mount_setattr"},
                                               {SYS_move_mount, "move_mount"}};
  for (const auto& [call, name] : calls) {
    const pid_t pid = ::fork();
    if (pid == 0) ::_exit(Forget(call) && WhyNoMountCalls() == name + ": Function not implemented" ? 0 : 1);
    int status = 0;
    ::waitpid(pid, &status, 0);
    EXPECT_EQ(status, 0) << name;
  }
}

TEST(MountCalls, NoLinkOnTheWayAndNoneOfProc) {
  const TempFolder temp;
  const std::string folder = fs::canonical(temp.path()).string();
  fs::create_directories(folder + "/a/b");
  fs::create_directory_symlink(folder + "/a", folder + "/link");
  fs::create_directory_symlink("/proc/self/root" + folder + "/a", folder + "/out");
  const UniqueFd found = OpenWithoutLinks(folder + "/a/b");
  EXPECT_EQ(PathOf(found.get()), folder + "/a/b");
  for (const char* name : {"/link", "/link/b"}) {
    EXPECT_FALSE(OpenWithoutLinks(folder + name));
    EXPECT_EQ(errno, ELOOP);
  }
  EXPECT_EQ(PathOf(OpenFollowingLinks(folder + "/link/b").get()), folder + "/a/b");
  EXPECT_FALSE(OpenFollowingLinks(folder + "/out/b"));
  EXPECT_EQ(errno, ELOOP);
  EXPECT_EQ(PathOf(-1), "");
}

}  // namespace
}  // namespace glim::nodeagent
