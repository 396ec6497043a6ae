#include "nodeagent/confinement/seccomp_profile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace glim::nodeagent {
namespace {

using nlohmann::json;
using Arguments = std::vector<std::uint64_t>;

constexpr int kAllowed = 0;
constexpr int kEperm = 1;
constexpr int kEnosys = 38;
constexpr int kEafnosupport = 97;

bool Fits(const json& rule, const std::string& call, const Arguments& arguments) {
  const json& names = rule.at("names");
  if (std::find(names.begin(), names.end(), call) == names.end()) return false;
  for (const json& arg : rule.value("args", json::array())) {
    const std::size_t index = arg.at("index");
    const std::uint64_t given = index < arguments.size() ? arguments[index] : 0;
    const std::uint64_t value = arg.at("value"), two = arg.at("valueTwo");
    const std::string op = arg.at("op");
    const bool fits = op == "SCMP_CMP_EQ"          ? given == value
                      : op == "SCMP_CMP_NE"        ? given != value
                      : op == "SCMP_CMP_MASKED_EQ" ? (given & value) == two
                                                   : false;
    if (!fits) return false;
  }
  return true;
}

// What the call comes to: 0, or an errno. Only ever by one rule.
int Answer(const json& profile, const std::string& call, const Arguments& arguments = {}) {
  int answer = profile.at("defaultErrnoRet"), rules = 0;
  for (const json& rule : profile.at("syscalls")) {
    if (!Fits(rule, call, arguments)) continue;
    answer = rule.at("action") == "SCMP_ACT_ALLOW" ? kAllowed : rule.at("errnoRet").get<int>();
    ++rules;
  }
  EXPECT_LE(rules, 1) << call << ": which of two rules counts is the runtime's choice";
  return answer;
}

struct Case {
  std::string call;
  Arguments arguments;
  int answer = kAllowed;
};
constexpr std::uint64_t kAbove = std::uint64_t{1} << 32;  // the kernel does not see it
const Case kCases[] = {
    // What programs do.
    {"openat", {}, kAllowed},
    {"execve", {}, kAllowed},
    {"mmap", {}, kAllowed},
    {"openat2", {}, kAllowed},
    {"statx", {}, kAllowed},
    {"close_range", {}, kAllowed},
    {"epoll_pwait2", {}, kAllowed},
    {"rseq", {}, kAllowed},
    {"membarrier", {}, kAllowed},
    {"copy_file_range", {}, kAllowed},
    {"landlock_create_ruleset", {}, kAllowed},
    // What training does: locked and shared memory, memory's places, other ranks of the same user.
    {"mlock2", {}, kAllowed},
    {"memfd_create", {}, kAllowed},
    {"shmget", {}, kAllowed},
    {"mbind", {}, kAllowed},
    {"set_mempolicy", {}, kAllowed},
    {"get_mempolicy", {}, kAllowed},
    {"sched_setaffinity", {}, kAllowed},
    {"move_pages", {0}, kAllowed},
    {"move_pages", {42}, kEperm},
    {"process_vm_readv", {}, kAllowed},
    {"ptrace", {}, kAllowed},
    {"pidfd_open", {}, kAllowed},
    {"pidfd_getfd", {}, kAllowed},
    {"futex_waitv", {}, kAllowed},
    // Past the container.
    {"mount", {}, kEperm},
    {"open_tree", {}, kEperm},
    {"setns", {}, kEperm},
    {"unshare", {}, kEperm},
    {"bpf", {}, kEperm},
    {"keyctl", {}, kEperm},
    {"perf_event_open", {}, kEperm},
    {"userfaultfd", {}, kEperm},
    {"init_module", {}, kEperm},
    {"open_by_handle_at", {}, kEperm},
    {"clock_settime", {}, kEperm},
    {"io_uring_setup", {}, kEperm},
    // clone: threads and processes, and no namespace.
    {"clone", {0x01200011}, kAllowed},
    {"clone", {0x003d0f00}, kAllowed},
    {"clone", {0x00020011}, kEperm},
    {"clone", {0x10000011}, kEperm},
    {"clone", {0x7e020011}, kEperm},
    {"clone", {kAbove | 0x02000011}, kEperm},
    {"clone3", {}, kEnosys},
    // Sockets: local, IP, netlink.
    {"socket", {1}, kAllowed},
    {"socket", {2}, kAllowed},
    {"socket", {10}, kAllowed},
    {"socket", {16}, kAllowed},
    {"socket", {40}, kEafnosupport},
    {"socket", {kAbove | 40}, kEafnosupport},
    {"socket", {38}, kEafnosupport},
    {"socket", {17}, kEafnosupport},
    {"socket", {5}, kEnosys},
    {"socketpair", {1}, kAllowed},
    {"socketpair", {40}, kEnosys},
    // Typing into a terminal.
    {"ioctl", {0, 0x5401}, kAllowed},
    {"ioctl", {0, 0xc0104629}, kAllowed},
    {"ioctl", {0, 0x5412}, kEperm},
    {"ioctl", {0, kAbove | 0x5412}, kEperm},
    {"ioctl", {0, 0x541c}, kEperm},
    {"ioctl", {0, 0x5413}, kAllowed},
    {"personality", {0}, kAllowed},
    {"personality", {0xffffffff}, kAllowed},
    {"personality", {0x0040000}, kAllowed},
    {"personality", {0x0400000}, kEnosys},
    // What nobody here knows yet.
    {"a_call_of_next_year", {}, kEnosys},
};

TEST(SeccompProfile, AnswersEachCall) {
  const json profile = SeccompProfile({});
  EXPECT_EQ(profile.at("defaultAction"), "SCMP_ACT_ERRNO");
  for (const Case& c : kCases) {
    EXPECT_EQ(Answer(profile, c.call, c.arguments), c.answer)
        << c.call << "(" << testing::PrintToString(c.arguments) << ")";
  }
}

TEST(SeccompProfile, TheOperatorMayAllowMore) {
  const json more = SeccompProfile({.io_uring = true, .vsock = true});
  EXPECT_EQ(Answer(more, "io_uring_setup"), kAllowed);
  EXPECT_EQ(Answer(more, "io_uring_enter"), kAllowed);
  EXPECT_EQ(Answer(more, "socket", {40}), kAllowed);
  EXPECT_EQ(Answer(more, "socket", {38}), kEafnosupport);
  EXPECT_EQ(Answer(more, "unshare"), kEperm);
}

// Whatever the 32 bits say that the kernel reads.
TEST(SeccompProfile, EachRequestOfIoctlHasOneAnswer) {
  const json profile = SeccompProfile({});
  for (int bit = 0; bit < 32; ++bit) {
    for (const std::uint64_t request : {0x5412, 0x541c}) {
      const std::uint64_t other = request ^ (std::uint64_t{1} << bit);
      EXPECT_EQ(Answer(profile, "ioctl", {0, other}), kAllowed) << other;
    }
  }
}

}  // namespace
}  // namespace glim::nodeagent
