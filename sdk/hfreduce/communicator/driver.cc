#include "sdk/hfreduce/communicator/driver.h"

#include <poll.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

namespace glim::hfreduce {
namespace {

using Clock = std::chrono::steady_clock;

// Before a waiting thread sleeps: about what falling asleep and being woken costs.
constexpr std::chrono::microseconds kSpin{30};
// An operation is begun by its caller, who has other things to do.
constexpr Duration kSubmitMax = Milliseconds(1);
// The thread looks for dead peers this often, though nobody has told it that it is in charge: that would cost every
// operation a switch of threads.
constexpr Duration kIdleLook = Milliseconds(200);
// Without progress, before it is told what a communicator waits for.
constexpr Duration kNoteAfter = Seconds(1);
constexpr Duration kLeaveMax = Seconds(2);
constexpr int kStepsAtOnce = 16;  // of the thread, before others get the lock

TimePoint Now() {
  const auto now = Clock::now().time_since_epoch();
  return {std::chrono::duration_cast<std::chrono::milliseconds>(now).count() + 1};
}

Status SystemError(const char* what) {
  return {StatusCode::kUnavailable, std::string(what) + ": " + std::strerror(errno)};
}

void Drain(int eventfd) {
  std::uint64_t count = 0;
  while (::read(eventfd, &count, sizeof(count)) < 0 && errno == EINTR) {
  }
}

void Kick(int eventfd) {
  const std::uint64_t one = 1;
  while (::write(eventfd, &one, sizeof(one)) < 0 && errno == EINTR) {
  }
}

bool Add(int epoll, int descriptor, std::uint32_t events) {
  epoll_event event{.events = events, .data = {.fd = descriptor}};
  return ::epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) == 0;
}

void Arm(int epoll, int descriptor, std::uint32_t events) {
  epoll_event event{.events = events, .data = {.fd = descriptor}};
  ::epoll_ctl(epoll, EPOLL_CTL_MOD, descriptor, &event);
}

}  // namespace

Result<std::unique_ptr<Driver>> Driver::Create(std::unique_ptr<Part> part) {
  std::unique_ptr<Driver> driver(new Driver(std::move(part)));
  if (Status status = driver->Open(); !status.ok()) return status;
  return driver;
}

Status Driver::Open() {
  events_.Reset(::epoll_create1(EPOLL_CLOEXEC));
  wakes_.Reset(::epoll_create1(EPOLL_CLOEXEC));
  kick_.Reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  stir_.Reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!events_ || !wakes_ || !kick_ || !stir_) return SystemError("epoll and eventfd");
  for (const int descriptor : part_->Descriptors()) {
    if (!Add(events_.get(), descriptor, EPOLLIN)) return SystemError("epoll_ctl");
  }
  if (!Add(events_.get(), kick_.get(), EPOLLIN) || !Add(wakes_.get(), events_.get(), 0) ||
      !Add(wakes_.get(), stir_.get(), EPOLLIN)) {
    return SystemError("epoll_ctl");
  }
  thread_ = std::thread([this] { Run(); });
  return Status::Ok();
}

Driver::~Driver() {
  if (thread_.joinable()) {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    Kick(stir_.get());
    thread_.join();
    TakeOver();
    part_->Leave();
    const TimePoint end = Now() + kLeaveMax;
    while (!part_->left() && Now() < end) {
      TickLocked();
      if (part_->Step()) continue;
      if (part_->BeginSleep() && !part_->left()) SleepOn(events_.get(), kTickEvery);
      part_->EndSleep();
    }
  }
}

void Driver::Submit(Request request) {
  const std::lock_guard lock(mutex_);
  const bool waited = waited_;
  if (!waited) TakeOver();
  part_->Start(std::move(request));
  if (!waited) return HandOver(kSubmitMax);
  StepFor(kSubmitMax);
  Kick(kick_.get());  // the one who waits may be asleep
}

Status Driver::Wait(const Completion& completion) {
  if (completion.done()) return completion.status();
  const std::lock_guard one(waiting_);
  std::unique_lock lock(mutex_);
  waited_ = true;
  TakeOver();
  Clock::time_point spin_until{};
  while (!completion.done()) {
    if (part_->Step()) {
      spin_until = {};
      continue;
    }
    if (completion.done()) break;
    const Clock::time_point now = Clock::now();
    if (spin_until == Clock::time_point{}) spin_until = now + kSpin;
    if (now < spin_until) {
      lock.unlock();
      ::sched_yield();
      lock.lock();
      continue;
    }
    spin_until = {};
    TickLocked();
    const bool sleeps = part_->BeginSleep();
    if (sleeps && !completion.done()) {
      lock.unlock();
      SleepOn(events_.get(), kTickEvery);
      Drain(kick_.get());
      lock.lock();
    }
    part_->EndSleep();
  }
  waited_ = false;
  HandOver({});
  return completion.status();
}

void Driver::Abort(const std::string& reason) {
  const std::lock_guard lock(mutex_);
  const bool waited = waited_;
  if (!waited) TakeOver();
  part_->Abort(reason);
  if (!waited) return HandOver(kSubmitMax);
  StepFor(kSubmitMax);
  Kick(kick_.get());
}

void Driver::Run() {
  Duration at_most = kIdleLook;
  for (;;) {
    epoll_event event{};
    ::epoll_wait(wakes_.get(), &event, 1, static_cast<int>((waited_ ? kIdleLook : at_most).ms));
    Drain(stir_.get());
    const std::lock_guard lock(mutex_);
    if (stop_) return;
    at_most = kIdleLook;
    if (waited_ || !handed_over_) continue;
    at_most = kTickEvery;
    TakeOver();
    for (int step = 0; step < kStepsAtOnce && part_->Step(); ++step) {
    }
    TickLocked();
    HandOver({});
  }
}

void Driver::StepFor(Duration at_most) {
  const Clock::time_point end = Clock::now() + std::chrono::milliseconds(at_most.ms);
  while (part_->Step() && Clock::now() < end) {
  }
}

void Driver::TickLocked() {
  const TimePoint now = Now();
  if (now - ticked_ < kTickEvery) return;
  ticked_ = now;
  part_->Tick(now);
  NoteWait(now);
}

void Driver::NoteWait(TimePoint now) {
  if (const std::uint64_t progress = part_->progress(); progress != progress_ || !moved_) {
    progress_ = progress;
    moved_ = now;
    return note_.Clear();
  }
  if (now - moved_ >= kNoteAfter) note_.Say(part_->idle() ? "" : part_->WaitsFor());
}

void Driver::HandOver(Duration patience) {
  const Clock::time_point end = Clock::now() + std::chrono::milliseconds(patience.ms);
  while (!part_->idle()) {
    if (part_->BeginSleep()) {
      handed_over_ = true;
      asleep_ = true;
      Arm(wakes_.get(), events_.get(), EPOLLIN | EPOLLONESHOT);
      return;
    }
    part_->EndSleep();
    if (Clock::now() < end) continue;  // cheaper than to wake the thread for a message that is here already
    handed_over_ = true;
    Kick(stir_.get());
    return;
  }
  note_.Clear();
}

void Driver::TakeOver() {
  handed_over_ = false;
  if (!asleep_) return;
  asleep_ = false;
  part_->EndSleep();
  Drain(kick_.get());
  Arm(wakes_.get(), events_.get(), 0);
}

void Driver::SleepOn(int descriptor, Duration at_most) const {
  pollfd wanted{.fd = descriptor, .events = POLLIN, .revents = 0};
  ::poll(&wanted, 1, static_cast<int>(at_most.ms));
}

}  // namespace glim::hfreduce
