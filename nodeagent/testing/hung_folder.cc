#include "nodeagent/testing/hung_folder.h"

#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include "sdk/base/check.h"
#include "sdk/io/testing/small_disk.h"

namespace glim::nodeagent {
namespace {

constexpr std::size_t kRequestBytesMax = 1 << 20;

// The kernel's greeting is answered; without that nothing is asked at all.
void Greet(int fuse, const fuse_in_header& request) {
  struct {
    fuse_out_header header;
    fuse_init_out body;
  } answer{};
  answer.header.len = sizeof answer;
  answer.header.unique = request.unique;
  answer.body.major = FUSE_KERNEL_VERSION;
  answer.body.minor = FUSE_KERNEL_MINOR_VERSION;
  answer.body.max_write = 4096;
  GLIM_CHECK(::write(fuse, &answer, sizeof answer) == sizeof answer, "the kernel's FUSE does not like the greeting");
}

}  // namespace

HungFolder::HungFolder(std::string path) : path_(std::move(path)) {
  LeaveMountsOfOthers();
  fuse_.Reset(::open("/dev/fuse", O_RDWR | O_CLOEXEC | O_NONBLOCK));
  GLIM_CHECK(static_cast<bool>(fuse_), "there is no /dev/fuse");
  stop_.Reset(::eventfd(0, EFD_CLOEXEC));
  const std::string options = "fd=" + std::to_string(fuse_.get()) + ",rootmode=40000,user_id=0,group_id=0,allow_other";
  GLIM_CHECK(::mount("hung", path_.c_str(), "fuse", MS_NOSUID | MS_NODEV, options.c_str()) == 0, "no FUSE");
  thread_ = std::thread([this] { Serve(); });
}

HungFolder::~HungFolder() { Release(); }

void HungFolder::Serve() {
  std::vector<char> request(kRequestBytesMax);
  for (;;) {
    pollfd waits[] = {{fuse_.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}};
    if (::poll(waits, 2, -1) <= 0) continue;
    if (waits[1].revents != 0 || (waits[0].revents & (POLLERR | POLLHUP)) != 0) return;
    if (::read(fuse_.get(), request.data(), request.size()) < static_cast<ssize_t>(sizeof(fuse_in_header))) continue;
    fuse_in_header header;
    std::memcpy(&header, request.data(), sizeof header);
    if (header.opcode == FUSE_INIT) {
      Greet(fuse_.get(), header);
    } else {
      asked_by_ = static_cast<pid_t>(header.pid);
    }
  }
}

void HungFolder::Release() {
  if (!fuse_) return;
  const std::uint64_t one = 1;
  GLIM_CHECK(::write(stop_.get(), &one, sizeof one) == sizeof one, "no word to the thread");
  thread_.join();
  fuse_.Reset();  // ends the connection, and with it every wait
  ::umount2(path_.c_str(), MNT_DETACH);
}

}  // namespace glim::nodeagent
