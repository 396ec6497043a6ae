#include "sdk/checkpoint/io/usrbio_channel.h"

#include <sys/vfs.h>

#include <cerrno>
#include <deque>
#include <system_error>
#include <vector>

#include "sdk/base/check.h"
#include "sdk/checkpoint/io/stream_copy.h"
#include "sdk/checkpoint/io/usrbio_library.h"

namespace glim::checkpoint {
namespace {

constexpr long kFuseMagic = 0x65735546;

Status Unavailable(const std::string& what, const std::string& fix) {
  return Status(StatusCode::kUnavailable, what).WithField("io.kind").WithFix(fix);
}

class UsrbioChannel final : public Channel {
 public:
  UsrbioChannel(const UsrbioFunctions& functions, const IoOptions& options, IoDirection direction)
      : functions_(functions), options_(options), direction_(direction), slots_(options.depth) {
    for (std::uint32_t i = 0; i < options.depth; ++i) free_.push_back(i);
  }
  UsrbioChannel(const UsrbioChannel&) = delete;
  ~UsrbioChannel() override {
    if (has_ior_) functions_.iordestroy(&ior_);
    if (has_iov_) functions_.iovdestroy(&iov_);
  }

  // 0 or errno.
  int Open(const std::string& mount_point) {
    int result = functions_.iovcreate(&iov_, mount_point.c_str(), options_.depth * options_.block_bytes, 0, -1);
    if (result != 0) return -result;
    has_iov_ = true;
    const bool reads = direction_ == IoDirection::kRead;
    result = functions_.iorcreate4(&ior_, mount_point.c_str(), static_cast<int>(options_.depth), reads, 0, 0, -1, 0);
    has_ior_ = result == 0;
    return -result;
  }

  IoKind kind() const override { return IoKind::kUsrbio; }
  bool has_direct() const override { return false; }
  // What 3FS knows beforehand is the shared memory alone.
  void Register(std::span<const std::byte>) override {}
  bool IsRegistered(std::span<const std::byte>) const override { return false; }

  int Attach(int fd) override {
    const int result = functions_.reg_fd(fd, 0);
    return result > 0 ? result : 0;
  }
  void Detach(int fd) override { functions_.dereg_fd(fd); }

  void Submit(const IoRequest& request) override {
    GLIM_CHECK(!free_.empty() && request.bytes <= options_.block_bytes, "a request too many or too long");
    const std::uint32_t index = free_.back();
    free_.pop_back();
    slots_[index] = request;
    std::byte* staging = StagingOf(index);
    const bool reads = direction_ == IoDirection::kRead;
    if (!reads) StreamCopy(staging, request.memory, request.bytes);
    int result =
        functions_.prep_io(&ior_, &iov_, reads, staging, request.fd, request.offset, request.bytes, &slots_[index]);
    if (result < 0) {
      refused_.push_back({request.tag, result});
      free_.push_back(index);
      return;
    }
    // A hint: what is in the ring may be served before, and is served without.
    functions_.submit_ios(&ior_);
  }

  IoCompletion Wait() override {
    if (!refused_.empty()) {
      const IoCompletion completion = refused_.front();
      refused_.pop_front();
      return completion;
    }
    hf3fs_cqe cqe{};
    int came = 0;
    while (came == 0 || came == -EINTR || came == -EAGAIN) {
      came = functions_.wait_for_ios(&ior_, &cqe, 1, 1, nullptr);
    }
    GLIM_CHECK(came == 1, "hf3fs_wait_for_ios: " + std::generic_category().message(-came));
    const auto* slot = static_cast<const IoRequest*>(cqe.userdata);
    const auto index = static_cast<std::uint32_t>(slot - slots_.data());
    GLIM_CHECK(index < slots_.size(), "a completion of no request");
    if (direction_ == IoDirection::kRead && cqe.result > 0) {
      GLIM_CHECK(static_cast<std::uint64_t>(cqe.result) <= slot->bytes, "more bytes than were asked for");
      StreamCopy(slot->memory, StagingOf(index), static_cast<std::size_t>(cqe.result));
    }
    free_.push_back(index);
    return {slot->tag, cqe.result};
  }

 private:
  std::byte* StagingOf(std::uint32_t index) const {
    return reinterpret_cast<std::byte*>(iov_.base) + index * options_.block_bytes;
  }

  const UsrbioFunctions functions_;
  const IoOptions options_;
  const IoDirection direction_;
  hf3fs_iov iov_{};
  hf3fs_ior ior_{};
  bool has_iov_ = false;
  bool has_ior_ = false;
  std::vector<IoRequest> slots_;  // in flight, by their place in the shared memory
  std::vector<std::uint32_t> free_;
  std::deque<IoCompletion> refused_;
};

}  // namespace

bool MayBeUsrbio(const std::string& folder) {
  struct statfs found {};
  return ::statfs(folder.c_str(), &found) == 0 && found.f_type == kFuseMagic;
}

Result<std::unique_ptr<Channel>> MakeUsrbioChannel(const IoOptions& options, const std::string& folder,
                                                   IoDirection direction) {
  const Result<UsrbioFunctions> functions = LoadUsrbioLibrary(options.usrbio_library);
  if (!functions.ok()) return functions.status();
  char mount_point[sizeof(hf3fs_iov::mount_point)] = {};
  const int length = functions->extract_mount_point(mount_point, sizeof mount_point, folder.c_str());
  if (length <= 0 || static_cast<std::size_t>(length) > sizeof mount_point) {
    return Unavailable(folder + " is not on 3FS", "use auto, or a folder beneath 3FS's mount point");
  }
  auto channel = std::make_unique<UsrbioChannel>(*functions, options, direction);
  if (const int error = channel->Open(mount_point); error != 0) {
    return Unavailable("3FS gives no memory or ring: " + std::generic_category().message(error),
                       "look at 3FS's client on this machine, or use another kind");
  }
  return std::unique_ptr<Channel>(std::move(channel));
}

}  // namespace glim::checkpoint
