#include "nodeagent/os/folder_watch.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>

#include "sdk/io/io_error.h"

namespace glim::nodeagent {

FolderWatch::FolderWatch(boost::asio::io_context& io) : inotify_(io) {}
FolderWatch::~FolderWatch() = default;

Status FolderWatch::Start() {
  const int fd = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  if (fd < 0) return FileError("open", "inotify (see fs.inotify.max_user_instances)", errno);
  inotify_.assign(fd);
  Wait();
  return Status::Ok();
}

void FolderWatch::Stop() {
  boost::system::error_code ignored;
  inotify_.close(ignored);
  watches_.clear();
}

Result<FolderWatch::Id> FolderWatch::Add(const std::string& folder, Handler handler) {
  const int descriptor =
      ::inotify_add_watch(inotify_.native_handle(), folder.c_str(), IN_CREATE | IN_MOVED_TO | IN_MODIFY | IN_ONLYDIR);
  if (descriptor < 0) return FileError("watch (see fs.inotify.max_user_watches)", folder, errno);
  watches_[next_id_] = Watch{descriptor, std::move(handler)};
  return next_id_++;
}

void FolderWatch::Remove(Id id) {
  const auto it = watches_.find(id);
  if (it == watches_.end()) return;
  const int descriptor = it->second.descriptor;
  watches_.erase(it);
  const bool shared = std::any_of(watches_.begin(), watches_.end(),
                                  [&](const auto& entry) { return entry.second.descriptor == descriptor; });
  // Fails harmlessly when the folder is gone: the kernel has dropped the watch by itself.
  if (!shared && inotify_.is_open()) ::inotify_rm_watch(inotify_.native_handle(), descriptor);
}

void FolderWatch::Wait() {
  inotify_.async_wait(boost::asio::posix::stream_descriptor::wait_read, [this](boost::system::error_code error) {
    if (error) return;
    Drain();
    if (inotify_.is_open()) Wait();
  });
}

void FolderWatch::Drain() {
  std::set<int> changed;
  bool overflow = false;
  alignas(inotify_event) char buffer[16 * 1024];
  for (;;) {
    const ssize_t n = ::read(inotify_.native_handle(), buffer, sizeof buffer);
    if (n <= 0) break;
    for (ssize_t at = 0; at < n;) {
      const auto* event = reinterpret_cast<const inotify_event*>(buffer + at);
      overflow = overflow || (event->mask & IN_Q_OVERFLOW) != 0;
      changed.insert(event->wd);
      at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
    }
  }
  std::vector<Id> due;
  for (const auto& [id, watch] : watches_) {
    if (overflow || changed.contains(watch.descriptor)) due.push_back(id);
  }
  for (Id id : due) {
    const auto it = watches_.find(id);
    if (it == watches_.end()) continue;
    const Handler handler = it->second.handler;  // kept alive: it may remove itself
    handler();
  }
}

}  // namespace glim::nodeagent
