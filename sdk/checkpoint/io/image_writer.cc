#include "sdk/checkpoint/io/image_writer.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>
#include <vector>

#include "sdk/base/check.h"
#include "sdk/checkpoint/io/make_channel.h"
#include "sdk/checkpoint/io/micros_since.h"
#include "sdk/checkpoint/io/retry.h"
#include "sdk/io/io_error.h"
#include "sdk/io/retried.h"
#include "sdk/io/shared_folder.h"
#include "sdk/io/unique_fd.h"

namespace glim::checkpoint {
namespace {

using Clock = std::chrono::steady_clock;

// The kernel sends SIGXFSZ to whoever writes beyond the limit, which ends a program that does not expect it.
Status CheckSizeLimit(const std::string& name, std::uint64_t bytes) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || bytes <= limit.rlim_cur) {
    return Status::Ok();
  }
  return IoError(EFBIG, "write " + name + " (" + std::to_string(bytes) + " bytes, the limit is " +
                            std::to_string(limit.rlim_cur) + ")");
}

// One file on its way to the disk.
class NewFile {
 public:
  NewFile(Channel& channel, const IoOptions& options, const std::string& name, std::span<const std::byte> image,
          const std::function<void(std::uint64_t)>& wait_for)
      : channel_(channel), options_(options), name_(name), image_(image), wait_for_(wait_for) {}
  NewFile(const NewFile&) = delete;
  ~NewFile() {
    if (attached_) channel_.Detach(fd_.get());
  }

  bool direct() const { return direct_; }

  Status Create(int folder) {
    fd_.Reset(::openat(folder, name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!fd_) return IoError(errno, "create " + name_);
    created_ = true;
    if (Status status = ShareFile(folder, fd_.get()); !status.ok()) return status;
    // Not when it is opened: where there is no O_DIRECT, that would fail and leave the file there.
    direct_ = options_.direct && channel_.has_direct() && SetDirect(true);
    // The last block is padded. Room for all of it at once: a full disk is known before a byte was written.
    bytes_ = direct_ ? PagesUp(image_.size()) : image_.size();
    if (const Status status = CheckSizeLimit(name_, bytes_); !status.ok()) return status;
    if (bytes_ > 0 && channel_.has_direct()) {
      const int error = Retried([&] { return ::fallocate(fd_.get(), 0, 0, static_cast<off_t>(bytes_)); });
      if (error != 0 && error != EOPNOTSUPP && error != ENOSYS && error != EINVAL) {
        return IoError(error, "make room for " + name_);
      }
    }
    const int error = channel_.Attach(fd_.get());
    if (error != 0) return IoError(error, "register " + name_);
    attached_ = true;
    return Status::Ok();
  }
  bool created() const { return created_; }

  // Everything, with `depth` requests in flight; after a failure none is left in flight.
  Status WriteAll() {
    std::vector<Request> requests(options_.depth);
    std::vector<std::uint32_t> free;
    for (std::uint32_t i = options_.depth; i > 0; --i) free.push_back(i - 1);
    std::uint64_t next = 0;
    Status status;
    while (true) {
      while (status.ok() && !free.empty() && next < bytes_) {
        const std::uint64_t bytes = std::min(options_.block_bytes, bytes_ - next);
        Request& request = requests[free.back()];
        request = Request{.direct = direct_};
        wait_for_(std::min<std::uint64_t>(next + bytes, image_.size()));
        request.io = {fd_.get(), next, const_cast<std::byte*>(image_.data()) + next, bytes, free.back(), false};
        free.pop_back();
        channel_.Submit(request.io);
        next += bytes;
      }
      if (free.size() == requests.size()) return status;
      const IoCompletion completion = channel_.Wait();
      Request& request = requests[completion.tag];
      const Result<bool> written = Advance(request, completion.result);
      if (!written.ok() && status.ok()) status = written.status();
      if (status.ok() && !*written)
        channel_.Submit(request.io);
      else
        free.push_back(static_cast<std::uint32_t>(completion.tag));
    }
  }

  // The exact size, and all of it on the device.
  Status Finish(int folder) {
    const int fd = fd_.get();
    int error = 0;
    if (bytes_ != image_.size()) {
      error = Retried([&] { return ::ftruncate(fd, static_cast<off_t>(image_.size())); });
      if (error != 0) return IoError(error, "cut " + name_ + " to its size");
    }
    error = Retried([&] { return ::fsync(fd); });
    if (error != 0) return IoError(error, "flush " + name_);
    struct stat found {};
    if (::fstat(fd, &found) != 0) return IoError(errno, "look at " + name_);
    // What nobody can find any more is not saved.
    struct stat at_name {};
    if (::fstatat(folder, name_.c_str(), &at_name, AT_SYMLINK_NOFOLLOW) != 0 || at_name.st_ino != found.st_ino) {
      return IoError(ENOENT, "find " + name_ + " where it was written");
    }
    if (static_cast<std::uint64_t>(found.st_size) != image_.size()) {
      return Status(StatusCode::kDataLoss, name_ + " has " + std::to_string(found.st_size) + " bytes where " +
                                               std::to_string(image_.size()) + " were written");
    }
    return Status::Ok();
  }

 private:
  struct Request {
    IoRequest io = {};  // what is left of it
    bool direct = false;
    Retries retries = {};
  };

  bool SetDirect(bool on) {
    const int flags = ::fcntl(fd_.get(), F_GETFL);
    return flags >= 0 && ::fcntl(fd_.get(), F_SETFL, on ? flags | O_DIRECT : flags & ~O_DIRECT) == 0;
  }

  // Takes a request on; whether it is whole. If not, it is to be submitted again.
  Result<bool> Advance(Request& request, std::int64_t result) {
    IoRequest& io = request.io;
    if (result == -EINVAL && request.direct) {
      // It could be set, and yet is not there: the rest goes through the page cache.
      if (direct_ && !SetDirect(false)) return IoError(EINVAL, "write " + name_);
      direct_ = request.direct = false;
      return false;
    }
    if (result < 0 && !request.retries.MayRetry(static_cast<int>(-result))) {
      return IoError(static_cast<int>(-result), "write " + name_);
    }
    auto moved = static_cast<std::uint64_t>(std::max<std::int64_t>(result, 0));
    if (moved >= io.bytes) {
      Written(io.offset, io.bytes);
      return true;
    }
    // O_DIRECT goes on at a whole page, and writes a part of one again.
    if (request.direct) moved = PagesDown(moved);
    if (moved > 0)
      request.retries = Retries();
    else if (result >= 0 && !request.retries.MayRetry(EAGAIN))
      return IoError(EIO, "write more of " + name_);
    io.offset += moved;
    io.memory += moved;
    io.bytes -= moved;
    return false;
  }

  // Begins to write out what lies in the page cache, so that the flush at the end has less to do.
  void Written(std::uint64_t offset, std::uint64_t bytes) const {
    if (direct_ || !channel_.has_direct()) return;
    ::sync_file_range(fd_.get(), static_cast<off_t>(offset), static_cast<off_t>(bytes), SYNC_FILE_RANGE_WRITE);
  }

  Channel& channel_;
  const IoOptions& options_;
  const std::string& name_;
  const std::span<const std::byte> image_;
  const std::function<void(std::uint64_t)>& wait_for_;
  UniqueFd fd_;
  std::uint64_t bytes_ = 0;  // to write: the image, with O_DIRECT padded to a page
  bool direct_ = false;
  bool created_ = false;
  bool attached_ = false;
};

class ImageWriter final : public FileWriter {
 public:
  ImageWriter(std::unique_ptr<Channel> channel, const IoOptions& options)
      : channel_(std::move(channel)), options_(options) {}

  void Register(std::span<const std::byte> memory) override { channel_->Register(memory); }
  void Forget() override { channel_->Register({}); }

  Result<IoReport> WriteAsItComes(int folder, const std::string& name, std::span<const std::byte> image,
                                  const std::function<void(std::uint64_t)>& wait_for) override {
    if (const Status status = CheckFileName(name); !status.ok()) return status;
    GLIM_CHECK(reinterpret_cast<std::uintptr_t>(image.data()) % kPageBytes == 0, "an image begins at a page");
    const Clock::time_point start = Clock::now();
    NewFile file(*channel_, options_, name, image, wait_for);
    IoReport report;
    Status status = file.Create(folder);
    if (status.ok()) status = file.WriteAll();
    if (status.ok()) {
      const Clock::time_point written = Clock::now();
      status = file.Finish(folder);
      report.sync_micros = MicrosSince(written);
    }
    if (!status.ok()) {
      if (file.created()) ::unlinkat(folder, name.c_str(), 0);
      return status;
    }
    report.kind = channel_->kind();
    report.direct = file.direct();
    report.registered = channel_->IsRegistered(image);
    report.bytes = image.size();
    report.micros = MicrosSince(start);
    return report;
  }

 private:
  const std::unique_ptr<Channel> channel_;
  const IoOptions options_;
};

}  // namespace

std::unique_ptr<FileWriter> MakeImageWriter(std::unique_ptr<Channel> channel, const IoOptions& options) {
  return std::make_unique<ImageWriter>(std::move(channel), options);
}

Result<std::unique_ptr<FileWriter>> MakeFileWriter(const IoOptions& options, const std::string& folder) {
  Result<std::unique_ptr<Channel>> channel = MakeChannel(options, folder, IoDirection::kWrite);
  if (!channel.ok()) return channel.status();
  return MakeImageWriter(std::move(channel).value(), options);
}

}  // namespace glim::checkpoint
