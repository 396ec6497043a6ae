#include "nodeagent/saves/save_writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <span>

#include "sdk/checkpoint/format/crc32c.h"
#include "sdk/io/folders.h"
#include "sdk/io/io_error.h"
#include "sdk/io/write_file.h"

namespace glim::nodeagent {
namespace {

constexpr std::size_t kQueuedBytesMax = 32 << 20;
constexpr std::size_t kFilesMax = 200'000;

Status Broken(const std::string& what) { return Status(StatusCode::kDataLoss, what); }

}  // namespace

SaveWriter::SaveWriter(int folder, std::string name, std::optional<TaskUser> owner)
    : folder_(folder), name_(std::move(name)), owner_(owner), thread_([this] { Run(); }) {}

SaveWriter::~SaveWriter() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
    queue_.clear();
  }
  changed_.notify_all();
  thread_.join();
}

void SaveWriter::Begin(std::string path, std::int64_t bytes, std::uint32_t mode) {
  Push([this, path = std::move(path), bytes, mode] { return BeginFile(path, bytes, mode); }, 0);
}

void SaveWriter::Data(std::vector<grpc::Slice> data, std::size_t bytes) {
  Push([this, data = std::move(data)] { return WriteData(data); }, bytes);
}

void SaveWriter::End(std::uint32_t crc32c) {
  Push([this, crc32c] { return EndFile(crc32c); }, 0);
}

Status SaveWriter::Finish(std::int64_t files, std::int64_t bytes) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return (queue_.empty() && !busy_) || !status_.ok(); });
  if (!status_.ok()) return status_;
  lock.unlock();  // the thread has nothing to do until the next Begin
  Status synced = sink_.Finish();
  lock.lock();
  if (!synced.ok()) {
    own_error_ = true;
    return status_ = std::move(synced);
  }
  const std::int64_t files_seen = std::exchange(files_, 0), bytes_seen = std::exchange(bytes_, 0);
  if (file_ || files_seen != files || bytes_seen != bytes) {
    status_ = Broken("came with " + std::to_string(files_seen) + " files of " + std::to_string(bytes_seen) +
                     " bytes, and was to have " + std::to_string(files) + " of " + std::to_string(bytes));
  }
  return status_;
}

Status SaveWriter::status() const {
  std::lock_guard lock(mutex_);
  return status_;
}

bool SaveWriter::own_error() const {
  std::lock_guard lock(mutex_);
  return own_error_;
}

void SaveWriter::Push(Work work, std::size_t bytes) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return queued_bytes_ < kQueuedBytesMax || !status_.ok(); });
  if (!status_.ok()) return;
  queue_.emplace_back(std::move(work), bytes);
  queued_bytes_ += bytes;
  changed_.notify_all();
}

void SaveWriter::Run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stop_ || !queue_.empty(); });
    if (stop_) return;
    auto [work, bytes] = std::move(queue_.front());
    queue_.pop_front();
    busy_ = true;
    lock.unlock();
    Status status = work();
    work = nullptr;  // the memory goes back before somebody is told that there is room
    lock.lock();
    busy_ = false;
    queued_bytes_ -= bytes;
    if (!status.ok() && status_.ok()) status_ = std::move(status);
    if (!status_.ok()) queue_.clear();
    changed_.notify_all();
  }
}

// Of this node's own disk, not of what came.
Status SaveWriter::OwnError(Status status) {
  std::lock_guard lock(mutex_);
  own_error_ = true;
  return status;
}

Status SaveWriter::BeginFile(const std::string& path, std::int64_t bytes, std::uint32_t mode) {
  if (file_) return Broken("a file began before the one before had ended");
  const bool folder = path.ends_with('/');
  const std::string plain = folder ? path.substr(0, path.size() - 1) : path;
  if ((!plain.empty() && !IsLocalPath(plain)) || bytes < 0) return Broken("\"" + path + "\" is no path of a save");
  if (written_.size() >= kFilesMax) return Broken("has more than " + std::to_string(kFilesMax) + " files");
  const bool fresh = written_.insert(plain).second;
  if (folder) return fresh ? MakeFolder(plain, mode) : Status::Ok();
  file_.emplace();
  file_->path = plain;
  file_->bytes = bytes;
  if (!fresh) return Status::Ok();
  const std::string placed = Placed(plain);
  const std::size_t slash = placed.rfind('/');
  Result<UniqueFd> parent = MakeFoldersBelow(folder_, slash == std::string::npos ? "" : placed.substr(0, slash), owner_,
                                             Durability::kProcess);
  if (!parent.ok()) return OwnError(parent.status());
  UniqueFd fd(::openat(parent->get(), placed.substr(slash + 1).c_str(),
                       O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd) return OwnError(FileError("create", placed, errno));
  if (owner_ && ::fchown(fd.get(), owner_->uid, owner_->gid) != 0) {
    return OwnError(FileError("give the task's user", placed, errno));
  }
  if (::fchmod(fd.get(), (mode & 0750) | S_IRUSR | S_IWUSR) != 0) {
    return OwnError(FileError("set the permissions of", placed, errno));
  }
  file_->written = true;
  Status status = sink_.Begin(std::move(fd), placed, bytes);
  return status.ok() ? status : OwnError(std::move(status));
}

Status SaveWriter::MakeFolder(const std::string& path, std::uint32_t mode) {
  Result<UniqueFd> folder = MakeFoldersBelow(folder_, Placed(path), owner_, Durability::kProcess);
  if (!folder.ok()) return OwnError(folder.status());
  if (::fchmod(folder->get(), (mode & 02750) | S_IRWXU) != 0) {
    return OwnError(FileError("set the permissions of", Placed(path), errno));
  }
  return Status::Ok();
}

Status SaveWriter::WriteData(const std::vector<grpc::Slice>& data) {
  if (!file_) return Broken("data came without a file");
  File& file = *file_;
  for (const grpc::Slice& slice : data) {
    const auto bytes = std::as_bytes(std::span(slice.begin(), slice.size()));
    file.offset += static_cast<std::int64_t>(bytes.size());
    if (file.offset > file.bytes) return Broken("file \"" + file.path + "\" is longer than it was to be");
    file.sum = checkpoint::Crc32c(bytes, file.sum);
    if (!file.written) continue;
    if (Status status = sink_.Write(bytes); !status.ok()) return OwnError(std::move(status));
  }
  return Status::Ok();
}

Status SaveWriter::EndFile(std::uint32_t crc32c) {
  if (!file_) return Broken("a file ended that had not begun");
  File& file = *file_;
  if (file.offset != file.bytes) {
    return Broken("file \"" + file.path + "\" has " + std::to_string(file.offset) + " of " +
                  std::to_string(file.bytes) + " bytes");
  }
  if (file.sum != crc32c) return Broken("file \"" + file.path + "\" came with another checksum than it was sent with");
  if (file.written) {
    if (Status status = sink_.End(); !status.ok()) return OwnError(std::move(status));
  }
  ++files_;
  bytes_ += file.bytes;
  file_.reset();
  return Status::Ok();
}

}  // namespace glim::nodeagent
