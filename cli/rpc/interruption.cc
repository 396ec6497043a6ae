#include "cli/rpc/interruption.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cli/text/errors.h"
#include "sdk/base/check.h"

namespace glim::cli {
namespace {

constexpr int kPatienceMs = 1000;

}  // namespace

Interruption::Interruption() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal_fd_.Reset(signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  stop_fd_.Reset(eventfd(0, EFD_CLOEXEC));
  GLIM_CHECK(signal_fd_ && stop_fd_, "two file descriptors are needed to watch for Ctrl-C");
  thread_ = std::thread([this] { Run(); });
}

Interruption::~Interruption() {
  const std::uint64_t one = 1;
  while (write(stop_fd_.get(), &one, sizeof(one)) < 0 && errno == EINTR) {
  }
  thread_.join();
}

void Interruption::Run() {
  bool seen = false;
  while (true) {
    pollfd fds[] = {{stop_fd_.get(), POLLIN, 0}, {signal_fd_.get(), POLLIN, 0}};
    const int ready = poll(fds, 2, seen ? kPatienceMs : -1);
    if (ready < 0 && errno == EINTR) continue;
    if ((fds[0].revents & POLLIN) != 0) return;
    signalfd_siginfo info{};
    const bool signalled =
        (fds[1].revents & POLLIN) != 0 && read(signal_fd_.get(), &info, sizeof(info)) == sizeof(info);
    if (seen && (signalled || ready == 0)) _exit(kExitInterrupted);
    if (!signalled) continue;
    seen = true;
    const std::lock_guard lock(mutex_);
    raised_ = true;
    if (call_ != nullptr) call_->TryCancel();
    changed_.notify_all();
  }
}

bool Interruption::raised() const {
  const std::lock_guard lock(mutex_);
  return raised_;
}

bool Interruption::WaitFor(Duration duration) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::milliseconds(duration.ms), [this] { return raised_; });
}

Status Interruption::Cancelled() { return Status(StatusCode::kCancelled, "interrupted").WithReason("INTERRUPTED"); }

Interruption::Watch::Watch(Interruption* interruption, grpc::ClientContext* call) : interruption_(interruption) {
  const std::lock_guard lock(interruption_->mutex_);
  GLIM_CHECK(interruption_->call_ == nullptr, "one call at a time");
  interruption_->call_ = call;
  if (interruption_->raised_) call->TryCancel();
}

Interruption::Watch::~Watch() {
  const std::lock_guard lock(interruption_->mutex_);
  interruption_->call_ = nullptr;
}

}  // namespace glim::cli
