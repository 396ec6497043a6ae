// What is promised about what the environment says, and about limits. Needs no card: UCX's own tcp will do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <limits>

#include "sdk/net/testing/rdma_folder.h"
#include "sdk/net/ucx/memory.h"
#include "sdk/net/ucx/worker.h"

namespace glim::net::ucx {
namespace {

using net::testing::RdmaFolder;
using ::testing::HasSubstr;

class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { ::setenv(name, value, 1); }
  ~Variable() { ::unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

// Without a word of ours the transports are the environment's: with shared memory alone UCX looks after no peer.
TEST(UcxWorker, LeavesTheTransportsToTheEnvironmentUnlessToldOtherwise) {
  const Variable tls("UCX_TLS", "posix");
  const auto all = Worker::Open({.tls = "all"});
  ASSERT_TRUE(all.ok()) << all.status().message();
  EXPECT_EQ((*all)->error_mode(), UCP_ERR_HANDLING_MODE_NONE);
  const auto tcp = Worker::Open({.tls = "tcp"});
  ASSERT_TRUE(tcp.ok()) << tcp.status().message();
  EXPECT_EQ((*tcp)->error_mode(), UCP_ERR_HANDLING_MODE_PEER);
}

TEST(UcxWorker, NamesTheDevicesThatItCannotHave) {
  const auto worker = Worker::Open({.tls = "tcp", .net_devices = "mlx5_9:1"});
  ASSERT_FALSE(worker.ok());
  EXPECT_THAT(worker.status().message(), HasSubstr("'tcp' on mlx5_9:1"));
  const Variable devices("UCX_NET_DEVICES", "mlx5_8:1");
  const auto of_environment = Worker::Open({.tls = "tcp"});
  ASSERT_FALSE(of_environment.ok());
  EXPECT_THAT(of_environment.status().message(), HasSubstr("'tcp' on mlx5_8:1"));
}

// In a process without the right to lock as much as it likes.
template <typename Body>
int WithLittleToLock(const Body& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct none[2] = {};
    const rlimit little{65'536, 65'536};
    if (::syscall(SYS_capset, &header, none) != 0 || ::setrlimit(RLIMIT_MEMLOCK, &little) != 0) ::_exit(100);
    ::_exit(body());
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// (UCX itself tries for ever.)
TEST(UcxWorker, IsRefusedVerbsWhereItMayNotLockTheirMemoryAndOtherwiseGoesWithout) {
  RdmaFolder folder;
  folder.Add("mlx5_0", "4: ACTIVE");
  const int result = WithLittleToLock([&] {
    WorkerOptions options{.tls = "rc", .rdma_folder = folder.path()};
    const auto verbs = Worker::Open(options);
    if (verbs.ok() || verbs.status().code() != StatusCode::kResourceExhausted) return 1;
    if (verbs.status().message().find("RLIMIT_MEMLOCK of this process is 65536 bytes") == std::string::npos) return 2;
    if (verbs.status().fix().find("ulimit -l") == std::string::npos) return 3;
    options.tls = "all";
    const auto all = Worker::Open(options);
    if (!all.ok()) return 4;
    return (*all)->may_use_verbs() ? 5 : 0;
  });
  EXPECT_EQ(result, 0);
}

TEST(UcxMemory, SaysWhatMayBeLockedWhereItCannotBeHad) {
  const auto worker = Worker::Open({.tls = "tcp"});
  ASSERT_TRUE(worker.ok()) << worker.status().message();
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_MEMLOCK, &before), 0);
  const rlimit lower{65'536, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_MEMLOCK, &lower), 0);
  const auto memory = Memory::Allocate(**worker, std::numeric_limits<std::size_t>::max() / 4);
  ASSERT_EQ(::setrlimit(RLIMIT_MEMLOCK, &before), 0);
  ASSERT_FALSE(memory.ok());
  EXPECT_EQ(memory.status().code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(memory.status().message(), HasSubstr("RLIMIT_MEMLOCK of this process is 65536 bytes"));
  EXPECT_THAT(memory.status().fix(), HasSubstr("ulimit -l"));
}

}  // namespace
}  // namespace glim::net::ucx
