#include "nodeagent/saves/file_syncer.h"

#include <unistd.h>

#include <cerrno>

#include "sdk/io/io_error.h"

namespace glim::nodeagent {
namespace {

constexpr std::size_t kWaitingMax = 32;

}  // namespace

FileSyncer::~FileSyncer() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
    waiting_.clear();
  }
  changed_.notify_all();
  thread_.join();
}

void FileSyncer::Push(UniqueFd fd, std::string name, std::int64_t bytes) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return waiting_.size() < kWaitingMax; });
  waiting_.push_back({std::move(fd), std::move(name), bytes});
  changed_.notify_all();
}

Status FileSyncer::Finish() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return waiting_.empty() && !busy_; });
  return status_;
}

void FileSyncer::Run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stop_ || !waiting_.empty(); });
    if (stop_) return;
    const File file = std::move(waiting_.front());
    waiting_.pop_front();
    busy_ = true;
    lock.unlock();
    Status status = Sync(file);
    lock.lock();
    busy_ = false;
    if (!status.ok() && status_.ok()) status_ = std::move(status);
    changed_.notify_all();
  }
}

Status FileSyncer::Sync(const File& file) {
  if (::ftruncate(file.fd.get(), file.bytes) != 0) return FileError("cut to its size", file.name, errno);
  return ::fsync(file.fd.get()) == 0 ? Status::Ok() : FileError("sync", file.name, errno);
}

}  // namespace glim::nodeagent
