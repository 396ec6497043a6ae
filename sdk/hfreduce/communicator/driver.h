// Drives a rank's part: by whoever waits for an operation, else by a thread that sleeps until something comes in.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "sdk/base/result.h"
#include "sdk/base/time.h"
#include "sdk/hfreduce/communicator/part.h"
#include "sdk/hfreduce/communicator/wait_note.h"
#include "sdk/io/unique_fd.h"

namespace glim::hfreduce {

// Thread-safe. Nobody sleeps with the lock held.
class Driver {
 public:
  static Result<std::unique_ptr<Driver>> Create(std::unique_ptr<Part> part);
  // Operations in flight fail.
  ~Driver();

  void Submit(Request request);
  Status Wait(const Completion& completion);
  void Abort(const std::string& reason);
  // Asks the part something while nobody drives it.
  template <typename Ask>
  auto WithLock(Ask ask) {
    const std::lock_guard lock(mutex_);
    return ask();
  }

 private:
  explicit Driver(std::unique_ptr<Part> part) : part_(std::move(part)) {}
  Status Open();
  void Run();
  void StepFor(Duration at_most);
  void TickLocked();
  // Says what it waits for, if it has waited for long.
  void NoteWait(TimePoint now);
  // To the thread, which wakes when there is something to do, and only then. What can be done in the patience is done
  // here.
  void HandOver(Duration patience);
  void TakeOver();
  void SleepOn(int descriptor, Duration at_most) const;

  std::unique_ptr<Part> part_;
  UniqueFd events_;  // epoll over the part's descriptors and the kick
  UniqueFd wakes_;   // epoll over `events_`, armed when the thread is in charge
  UniqueFd kick_;    // eventfd
  UniqueFd stir_;    // eventfd: wakes the thread alone
  std::mutex mutex_;
  std::mutex waiting_;  // one thread waits at a time
  std::atomic<bool> waited_{false};
  bool handed_over_ = false;
  bool asleep_ = false;  // between BeginSleep and EndSleep
  bool stop_ = false;
  TimePoint ticked_;
  WaitNote note_;
  std::uint64_t progress_ = 0;  // of the part, as of the last tick
  TimePoint moved_;             // when it was last another one
  std::thread thread_;
};

}  // namespace glim::hfreduce
