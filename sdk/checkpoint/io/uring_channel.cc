#include "sdk/checkpoint/io/uring_channel.h"

#include <liburing.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <system_error>
#include <thread>
#include <vector>

#include "sdk/base/check.h"
#include "sdk/threads/hand_over.h"

namespace glim::checkpoint {
namespace {

constexpr std::uint64_t kRegisteredBytesMax = std::uint64_t{1} << 30;  // of one buffer, by the kernel's rule

// The kernel may map a new ring where another thread's was: liburing asks it without libc, and the thread sanitizer
// does not see that memory come and go. This stands for all of it.
void* RingsMemory() { return reinterpret_cast<void*>(&::io_uring_queue_exit); }

class UringChannel final : public Channel {
 public:
  explicit UringChannel(IoDirection direction) : direction_(direction) {}
  UringChannel(const UringChannel&) = delete;
  ~UringChannel() override {
    if (!open_) return;
    HandOver(RingsMemory());
    ::io_uring_queue_exit(&ring_);
  }

  // 0 or errno.
  int Open(std::uint32_t depth) {
    const int error = -::io_uring_queue_init(depth, &ring_, 0);
    open_ = error == 0;
    TakeOver(RingsMemory());
    return error;
  }

  IoKind kind() const override { return IoKind::kUring; }
  bool has_direct() const override { return true; }

  void Register(std::span<const std::byte> memory) override {
    if (!registered_.empty()) ::io_uring_unregister_buffers(&ring_);
    registered_ = {};
    if (memory.empty()) return;
    std::vector<iovec> parts;
    for (std::uint64_t at = 0; at < memory.size(); at += kRegisteredBytesMax) {
      const auto part = memory.subspan(at, std::min<std::uint64_t>(kRegisteredBytesMax, memory.size() - at));
      parts.push_back({const_cast<std::byte*>(part.data()), part.size()});
    }
    if (::io_uring_register_buffers(&ring_, parts.data(), static_cast<unsigned>(parts.size())) == 0) {
      registered_ = memory;
    }
  }

  bool IsRegistered(std::span<const std::byte> memory) const override {
    return !registered_.empty() && memory.data() >= registered_.data() &&
           memory.data() + memory.size() <= registered_.data() + registered_.size();
  }

  int Attach(int) override { return 0; }
  void Detach(int) override {}

  void Submit(const IoRequest& request) override {
    io_uring_sqe* sqe = ::io_uring_get_sqe(&ring_);
    GLIM_CHECK(sqe != nullptr, "more requests in flight than the ring is deep");
    Prepare(sqe, request);
    ::io_uring_sqe_set_data64(sqe, request.tag);
    // Else this thread would copy, one request after the other.
    if (request.copies) ::io_uring_sqe_set_flags(sqe, IOSQE_ASYNC);
    // What the kernel does not take now stays in the ring, and Wait offers it again.
    CheckEntered(::io_uring_submit(&ring_));
  }

  IoCompletion Wait() override {
    io_uring_cqe* cqe = nullptr;
    while (::io_uring_peek_cqe(&ring_, &cqe) != 0) {
      const int entered = ::io_uring_submit_and_wait(&ring_, 1);
      CheckEntered(entered);
      if (entered == -EAGAIN || entered == -EBUSY) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    const IoCompletion completion{::io_uring_cqe_get_data64(cqe), cqe->res};
    ::io_uring_cqe_seen(&ring_, cqe);
    return completion;
  }

 private:
  void Prepare(io_uring_sqe* sqe, const IoRequest& request) const {
    const auto bytes = static_cast<unsigned>(request.bytes);
    // A request that spans two registered buffers goes as one that was not registered.
    const std::uint64_t at = static_cast<std::uint64_t>(request.memory - registered_.data());
    const bool fixed = IsRegistered({request.memory, request.bytes}) &&
                       at / kRegisteredBytesMax == (at + request.bytes - 1) / kRegisteredBytesMax;
    const int buffer = fixed ? static_cast<int>(at / kRegisteredBytesMax) : 0;
    if (direction_ == IoDirection::kWrite) {
      if (fixed)
        ::io_uring_prep_write_fixed(sqe, request.fd, request.memory, bytes, request.offset, buffer);
      else
        ::io_uring_prep_write(sqe, request.fd, request.memory, bytes, request.offset);
    } else {
      if (fixed)
        ::io_uring_prep_read_fixed(sqe, request.fd, request.memory, bytes, request.offset, buffer);
      else
        ::io_uring_prep_read(sqe, request.fd, request.memory, bytes, request.offset);
    }
  }

  // Any other failure would leave requests in flight whose memory the caller takes back.
  static void CheckEntered(int result) {
    GLIM_CHECK(result >= 0 || result == -EINTR || result == -EAGAIN || result == -EBUSY,
               "io_uring_enter: " + std::generic_category().message(-result));
  }

  const IoDirection direction_;
  io_uring ring_{};
  bool open_ = false;
  std::span<const std::byte> registered_;
};

}  // namespace

Result<std::unique_ptr<Channel>> MakeUringChannel(const IoOptions& options, IoDirection direction) {
  auto channel = std::make_unique<UringChannel>(direction);
  if (const int error = channel->Open(options.depth); error != 0) {
    return Status(StatusCode::kUnavailable, "io_uring cannot be used here: " + std::generic_category().message(error))
        .WithField("io.kind")
        .WithFix("use auto or pwrite, or allow io_uring_setup in the container's seccomp profile");
  }
  return std::unique_ptr<Channel>(std::move(channel));
}

}  // namespace glim::checkpoint
