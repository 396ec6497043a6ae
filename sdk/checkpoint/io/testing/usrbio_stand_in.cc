// The functions of 3FS's USRBIO that we use, on ordinary files: requests are served by a thread of the ring, as 3FS's
// client process would. Strict where the published interface is, so that wrong use fails a test. A path is "on 3FS" if
// a folder above it holds a file named ".3fs".
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "sdk/checkpoint/io/usrbio.h"

namespace {

struct Request {
  std::int32_t index;
  bool read;
  void* memory;
  int fd;
  std::size_t offset;
  std::uint64_t bytes;
  const void* userdata;
};

// One ring: what was prepared, and what is done.
class Ring {
 public:
  Ring(std::size_t entries, bool for_read) : entries_(entries), for_read_(for_read), server_([this] { Serve(); }) {}
  ~Ring() {
    {
      const std::lock_guard lock(mutex_);
      closing_ = true;
    }
    changed_.notify_all();
    server_.join();
  }

  int Prepare(Request request) {
    const std::lock_guard lock(mutex_);
    if (request.read != for_read_) return -EINVAL;
    if (in_flight_ == entries_) return -EAGAIN;
    request.index = static_cast<std::int32_t>(next_++ % entries_);
    ++in_flight_;
    prepared_.push_back(request);
    return request.index;
  }

  void Submit() { changed_.notify_all(); }

  int WaitFor(hf3fs_cqe* completions, int most, int least) {
    std::unique_lock lock(mutex_);
    changed_.notify_all();  // what was prepared is served without a hint as well
    changed_.wait(lock, [&] { return done_.size() >= static_cast<std::size_t>(least); });
    int count = 0;
    for (; count < most && !done_.empty(); ++count, --in_flight_) {
      completions[count] = done_.front();
      done_.pop_front();
    }
    return count;
  }

 private:
  void Serve() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return closing_ || !prepared_.empty(); });
      if (prepared_.empty()) return;
      const Request request = prepared_.front();
      prepared_.pop_front();
      lock.unlock();
      const auto offset = static_cast<off_t>(request.offset);
      const ssize_t moved = request.read ? ::pread(request.fd, request.memory, request.bytes, offset)
                                         : ::pwrite(request.fd, request.memory, request.bytes, offset);
      const hf3fs_cqe completion{request.index, 0, moved < 0 ? -errno : moved, request.userdata};
      lock.lock();
      done_.push_back(completion);
      changed_.notify_all();
    }
  }

  const std::size_t entries_;
  const bool for_read_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Request> prepared_;
  std::deque<hf3fs_cqe> done_;
  std::size_t in_flight_ = 0;
  std::size_t next_ = 0;
  bool closing_ = false;
  std::thread server_;
};

// The interface's own: descriptors are registered with the library, not with a ring.
struct Registered {
  std::mutex mutex;
  std::set<int> fds;
};
Registered& TheRegistered() {
  static Registered registered;
  return registered;
}

}  // namespace

extern "C" {

int hf3fs_extract_mount_point(char* mount_point, int size, const char* path) {
  for (std::string folder = path; !folder.empty(); folder.resize(folder.find_last_of('/'))) {
    if (::access((folder + "/.3fs").c_str(), F_OK) == 0) {
      if (folder.size() < static_cast<std::size_t>(size)) std::memcpy(mount_point, folder.c_str(), folder.size() + 1);
      return static_cast<int>(folder.size()) + 1;
    }
    if (folder.find('/') == std::string::npos) return -1;
  }
  return -1;
}

int hf3fs_iovcreate(hf3fs_iov* iov, const char* mount_point, std::size_t size, std::size_t block_size, int numa) {
  if (std::strlen(mount_point) >= sizeof iov->mount_point) return -EINVAL;
  void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return -errno;
  iov->base = static_cast<std::uint8_t*>(memory);
  std::strcpy(iov->mount_point, mount_point);
  iov->size = size;
  iov->block_size = block_size;
  iov->numa = numa;
  return 0;
}

void hf3fs_iovdestroy(hf3fs_iov* iov) { ::munmap(iov->base, iov->size); }

int hf3fs_iorcreate4(hf3fs_ior* ior, const char* mount_point, int entries, bool for_read, int io_depth, int timeout,
                     int, std::uint64_t flags) {
  if (entries <= 0 || std::strlen(mount_point) >= sizeof ior->mount_point) return -EINVAL;
  std::strcpy(ior->mount_point, mount_point);
  ior->for_read = for_read;
  ior->io_depth = io_depth;
  ior->timeout = timeout;
  ior->flags = flags;
  ior->iorh = new Ring(static_cast<std::size_t>(entries), for_read);
  return 0;
}

void hf3fs_iordestroy(hf3fs_ior* ior) { delete static_cast<Ring*>(ior->iorh); }

int hf3fs_reg_fd(int fd, std::uint64_t) {
  const std::lock_guard lock(TheRegistered().mutex);
  return TheRegistered().fds.insert(fd).second ? -fd : EINVAL;
}

void hf3fs_dereg_fd(int fd) {
  const std::lock_guard lock(TheRegistered().mutex);
  TheRegistered().fds.erase(fd);
}

int hf3fs_prep_io(const hf3fs_ior* ior, const hf3fs_iov* iov, bool read, void* memory, int fd, std::size_t offset,
                  std::uint64_t bytes, const void* userdata) {
  const auto* first = static_cast<std::uint8_t*>(memory);
  if (first < iov->base || first + bytes > iov->base + iov->size) return -EINVAL;
  {
    const std::lock_guard lock(TheRegistered().mutex);
    if (!TheRegistered().fds.contains(fd)) return -EBADF;
  }
  return static_cast<Ring*>(ior->iorh)->Prepare({0, read, memory, fd, offset, bytes, userdata});
}

int hf3fs_submit_ios(const hf3fs_ior* ior) {
  static_cast<Ring*>(ior->iorh)->Submit();
  return 0;
}

int hf3fs_wait_for_ios(const hf3fs_ior* ior, hf3fs_cqe* completions, int most, int least, const timespec*) {
  return static_cast<Ring*>(ior->iorh)->WaitFor(completions, most, least);
}

}  // extern "C"
