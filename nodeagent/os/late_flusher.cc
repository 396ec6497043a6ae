#include "nodeagent/os/late_flusher.h"

#include <fcntl.h>
#include <unistd.h>

#include <utility>

#include "sdk/io/unique_fd.h"

namespace glim::nodeagent {

LateFlusher::LateFlusher(std::chrono::milliseconds delay, Flush flush)
    : delay_(delay), flush_(std::move(flush)), thread_([this] { Run(); }) {}

LateFlusher::~LateFlusher() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void LateFlusher::Push(std::string path) {
  {
    std::lock_guard lock(mutex_);
    waiting_.push_back({std::move(path), std::chrono::steady_clock::now() + delay_});
  }
  changed_.notify_all();
}

void LateFlusher::Run() {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    if (waiting_.empty()) {
      changed_.wait(lock);
    } else if (waiting_.front().due > std::chrono::steady_clock::now()) {
      changed_.wait_until(lock, waiting_.front().due);
    } else {
      const std::string path = std::move(waiting_.front().path);
      waiting_.pop_front();
      lock.unlock();
      flush_(path);
      lock.lock();
    }
  }
}

void LateFlusher::FlushFileAndFolder(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  const UniqueFd folder(::open(path.substr(0, path.rfind('/') + 1).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (file) (void)::fsync(file.get());
  if (file && folder) (void)::fsync(folder.get());
}

}  // namespace glim::nodeagent
