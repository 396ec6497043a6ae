#include "sdk/hfreduce/node/bell.h"

#include <linux/futex.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstring>
#include <ctime>
#include <string>

namespace glim::hfreduce {
namespace {

constexpr socklen_t kPathOffset = offsetof(sockaddr_un, sun_path);

}  // namespace

void WaitOnFutex(std::atomic<std::uint32_t>& word, std::uint32_t while_value, Duration at_most) {
  const timespec time{.tv_sec = at_most.ms / 1000, .tv_nsec = at_most.ms % 1000 * 1'000'000};
  (void)::syscall(SYS_futex, &word, FUTEX_WAIT, while_value, &time, nullptr, 0);
}

void WakeFutex(std::atomic<std::uint32_t>& word) {
  (void)::syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

Bell::~Bell() {
  state(local_rank_).address_bytes.store(0);
  const UniqueFd sender(sender_.load());
}

void Bell::Prepare(SleeperKind kind) {
  BellState& own = state(local_rank_);
  seen_word_ = own.word.load(std::memory_order_relaxed);
  own.sleeper.store(static_cast<std::uint32_t>(kind), std::memory_order_relaxed);
  // Either the one who rings sees the sleeper, or the sleeper's last look sees what was changed.
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

void Bell::Cancel() {
  state(local_rank_).sleeper.store(static_cast<std::uint32_t>(SleeperKind::kAwake), std::memory_order_relaxed);
  if (!receiver_) return;
  char bytes[16];
  while (::recv(receiver_.get(), bytes, sizeof(bytes), MSG_DONTWAIT) >= 0) {
  }
}

void Bell::SleepOnFutex(Duration at_most) {
  BellState& own = state(local_rank_);
  WaitOnFutex(own.word, seen_word_, at_most);
  own.sleeper.store(static_cast<std::uint32_t>(SleeperKind::kAwake), std::memory_order_relaxed);
}

void Bell::RingOthers() {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  for (std::uint32_t rank = 0; rank < header_.ranks; ++rank) {
    if (rank != local_rank_) Ring(rank);
  }
}

void Bell::RingOne(std::uint32_t rank) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  Ring(rank);
}

void Bell::RingAll() {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  for (std::uint32_t rank = 0; rank < header_.ranks; ++rank) Ring(rank);
}

void Bell::Ring(std::uint32_t rank) {
  BellState& other = state(rank);
  constexpr auto kAwake = static_cast<std::uint32_t>(SleeperKind::kAwake);
  if (other.sleeper.load(std::memory_order_relaxed) == kAwake) return;
  // Of several who ring at once, one makes the system call.
  const auto was = static_cast<SleeperKind>(other.sleeper.exchange(kAwake, std::memory_order_acq_rel));
  if (was == SleeperKind::kFutex) {
    other.word.fetch_add(1, std::memory_order_release);
    WakeFutex(other.word);
  } else if (was == SleeperKind::kDescriptor) {
    SendDatagram(other);
  }
}

void Bell::SendDatagram(const BellState& to) {
  const std::uint32_t bytes = to.address_bytes.load(std::memory_order_acquire);
  if (bytes == 0 || bytes > sizeof(to.address)) return;
  int sender = sender_.load(std::memory_order_acquire);
  if (sender < 0) {
    UniqueFd made(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!made) return;  // the sleeper looks by itself after a while
    if (sender_.compare_exchange_strong(sender, made.get())) sender = made.Release();
  }
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, to.address, bytes);
  // Refused where the socket's queue is full: then it is readable already.
  (void)::sendto(sender, "", 1, MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&address), kPathOffset + bytes);
}

Result<int> Bell::Descriptor() {
  if (receiver_) return receiver_.get();
  const auto failed = [] {
    return Status(StatusCode::kUnavailable, std::string("no socket to be woken by: ") + std::strerror(errno));
  };
  receiver_.Reset(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!receiver_) return failed();
  // The kernel picks an abstract address: no file that could be left behind.
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  socklen_t length = sizeof(address);
  BellState& own = state(local_rank_);
  if (::bind(receiver_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(sa_family_t)) != 0 ||
      ::getsockname(receiver_.get(), reinterpret_cast<sockaddr*>(&address), &length) != 0 || length <= kPathOffset ||
      length - kPathOffset > sizeof(own.address)) {
    const Status status = failed();
    receiver_.Reset();
    return status;
  }
  std::memcpy(own.address, address.sun_path, length - kPathOffset);
  own.address_bytes.store(length - kPathOffset, std::memory_order_release);
  return receiver_.get();
}

}  // namespace glim::hfreduce
