// What a task in a container may ask of its kernel, tried from within: confinement/seccomp_profile.h.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <sstream>
#include <string>

#include "nodeagent/testing/agent_fixture.h"

namespace glim::nodeagent {
namespace {

// call(NUMBER, ...) is how it ended: "ok", or the error's name. In a process of its own, so that a call that ends one
// is seen, too.
constexpr const char* kProber = R"(exec /usr/bin/python3 -c '
import ctypes, errno, mmap, os, socket
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *args):
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        result = libc.syscall(number, *[ctypes.c_long(a) for a in args])
        told = "ok" if result >= 0 else errno.errorcode[ctypes.get_errno()]
        os.write(write, told.encode())
        os._exit(0)
    os.close(write)
    told = os.read(read, 100).decode()
    os.waitpid(child, 0)
    return told
here = ctypes.addressof(ctypes.create_string_buffer(b"/tmp"))
zeros = ctypes.create_string_buffer(4096)
zero = ctypes.addressof(zeros)
)";

// Some machines, virtual ones above all, know no 32-bit calls: whoever makes one gets a SIGSEGV, confined or not.
bool MachineTakes32BitCalls() {
  const pid_t child = ::fork();
  if (child == 0) {
    long id = 20;  // getpid
    asm volatile("int $0x80" : "+a"(id) : : "memory");
    ::_exit(id == ::getpid() ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

class AgentConfinedCallsTest : public AgentTest {
 protected:
  // What the lines print that come after the prober's.
  std::string Probe(const std::string& lines, const std::vector<std::string>& options = {}) {
    StartAgent(options);
    Launch(kKey, kProber + lines + "'");
    Send();
    EXPECT_TRUE(WaitPhase(kKey, kReleased));
    return LogText(kKey, 0);
  }
};

TEST_P(AgentConfinedCallsTest, WhatReachesPastTheContainerIsRefused) {
  const std::string text = Probe(R"(
for name, number, *args in [
    ("mount", 165, here, here, here, 0, 0), ("umount2", 166, here, 0), ("pivot_root", 155, here, here),
    ("chroot", 161, here), ("open_tree", 428, -100, here, 1), ("move_mount", 429, -1, here, -1, here, 0),
    ("fsopen", 430, here, 0), ("mount_setattr", 442, -1, here, 0, zero, 32), ("open_by_handle_at", 304, -1, zero, 0),
    ("swapon", 167, here, 0), ("init_module", 175, zero, 0, here), ("finit_module", 313, -1, here, 0),
    ("kexec_load", 246, 0, 0, zero, 0), ("bpf", 321, 0, zero, 64), ("perf_event_open", 298, zero, 0, -1, -1, 0),
    ("userfaultfd", 323, 1), ("reboot", 169, 0, 0, 0, 0), ("acct", 163, here), ("syslog", 103, 10, 0, 0),
    ("settimeofday", 164, zero, 0), ("clock_settime", 227, 0, zero), ("sethostname", 170, here, 4),
    ("add_key", 248, here, here, here, 4, -3), ("request_key", 249, here, here, 0, 0), ("keyctl", 250, 0, -3),
    ("setns", 308, -1, 0), ("unshare", 272, 0x10000000), ("clone newuser", 56, 0x10000011, 0, 0, 0, 0),
    ("clone newpid", 56, 0x20000011, 0, 0, 0, 0), ("io_uring_setup", 425, 1, zero), ("iopl", 172, 3),
    ("quotactl", 179, 0x800001 << 8, 0, 0, zero), ("fanotify_init", 300, 0, 0), ("kcmp", 312, 1, 1, 0, 0, 0),
    ("move_pages of another", 279, 1, 0, 0, 0, 0, 0), ("migrate_pages", 256, 1, 64, zero, zero),
    ("TIOCSTI", 16, 0, 0x5412, here), ("TIOCSTI, wide", 16, 0, (1 << 32) | 0x5412, here),
    ("TIOCLINUX", 16, 0, 0x541c, here)]:
    told = call(number, *args)
    if told != "EPERM": print(name, told)
print("clone3", call(435, zero, 88))
print("a later call", call(600))
for family in (17, 38, 40, 21, 29, 31): print(family, call(41, family, 2, 0))
print("wide", call(41, (1 << 32) | 40, 1, 0), "pair", call(53, 40, 1, 0, zero))
)");
  EXPECT_EQ(text,
            "clone3 ENOSYS\na later call ENOSYS\n17 EAFNOSUPPORT\n38 EAFNOSUPPORT\n40 EAFNOSUPPORT\n21 EAFNOSUPPORT\n"
            "29 EAFNOSUPPORT\n31 EAFNOSUPPORT\nwide EAFNOSUPPORT pair ENOSYS\n");
}

TEST_P(AgentConfinedCallsTest, WhatTrainingNeedsWorks) {
  const std::string text = Probe(R"(
import multiprocessing.shared_memory, subprocess, threading
t = threading.Thread(target=print, args=("thread",)); t.start(); t.join()
print(subprocess.run(["bash", "-c", "echo shell $((6 * 7)) | cat"], capture_output=True, text=True).stdout, end="")
for family in (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK): socket.socket(family, 2).close()
block = multiprocessing.shared_memory.SharedMemory(create=True, size=1 << 16); block.close(); block.unlink()
for name, number, *args in [
    ("mlock", 149, zero, 4096), ("get_mempolicy", 239, 0, 0, 0, 0, 0), ("set_mempolicy", 238, 0, 0, 0),
    ("mbind", 237, zero & ~4095, 4096, 0, 0, 0, 0), ("move_pages", 279, 0, 0, 0, 0, 0, 0),
    ("memfd_create", 319, here, 0), ("shmget", 29, 0, 4096, 0o1600), ("sched_getaffinity", 204, 0, 128, zero),
    ("membarrier", 324, 0, 0, 0), ("pidfd_open", 434, os.getpid(), 0), ("personality", 135, 0xffffffff),
    ("no random addresses", 135, 0x40000), ("landlock", 444, 0, 0, 1), ("close_range", 436, 900, 1000, 0)]:
    told = call(number, *args)
    if told != "ok": print(name, told)
os.sched_setaffinity(0, os.sched_getaffinity(0))
mine = ctypes.create_string_buffer(b"seen"); got = ctypes.create_string_buffer(4)
class Vec(ctypes.Structure): _fields_ = [("base", ctypes.c_void_p), ("size", ctypes.c_size_t)]
read, write = os.pipe(); child = os.fork()
if child == 0: os.read(read, 1); os._exit(0)
into = ctypes.byref(Vec(ctypes.addressof(got), 4)); source = ctypes.byref(Vec(ctypes.addressof(mine), 4))
print(libc.process_vm_readv(child, into, 1, source, 1, 0), got.raw.decode())
print("traced", libc.ptrace(16, child, 0, 0)); os.waitpid(child, 0x40000000); os.kill(child, 9); os.waitpid(child, 0)
)");
  EXPECT_EQ(text, "thread\nshell 42\n4 seen\ntraced 0\n");
}

// A 32-bit program's calls have other numbers, and its sockets an argument that no filter sees.
TEST_P(AgentConfinedCallsTest, CallsOfAnotherArchitectureEndTheProgram) {
  const std::string text = Probe(R"(
code = mmap.mmap(-1, 4096, prot=7)
code.write(bytes.fromhex("b814000000cd80c3"))  # mov eax, 20 (getpid); int 0x80; ret
run = ctypes.CFUNCTYPE(ctypes.c_long)(ctypes.addressof(ctypes.c_char.from_buffer(code)))
child = os.fork()
if child == 0: os._exit(0 if run() == os.getpid() else 1)
print("signal", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
)");
  EXPECT_EQ(text, "signal -" + std::to_string(MachineTakes32BitCalls() ? SIGSYS : SIGSEGV) + "\n");
}

TEST_P(AgentConfinedCallsTest, TheOperatorMayAllowMore) {
  const std::string text = Probe(R"(
print(call(425, 1, zero), call(41, 40, 1, 0) in ("ok", "EAFNOSUPPORT", "ENODEV"), call(41, 38, 5, 0))
)",
                                 {"--allow-io-uring", "--allow-vsock"});
  EXPECT_EQ(text, "ok True EAFNOSUPPORT\n");
}

GLIM_IN_CONTAINERS(AgentConfinedCallsTest);

}  // namespace
}  // namespace glim::nodeagent
