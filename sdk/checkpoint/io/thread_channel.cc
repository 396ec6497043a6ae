#include "sdk/checkpoint/io/thread_channel.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "sdk/io/io_error.h"

namespace glim::checkpoint {
namespace {

constexpr std::uint32_t kThreadsMax = 16;

class ThreadChannel final : public Channel {
 public:
  explicit ThreadChannel(IoDirection direction) : direction_(direction) {}
  ThreadChannel(const ThreadChannel&) = delete;
  ~ThreadChannel() override {
    {
      const std::lock_guard lock(mutex_);
      closing_ = true;
    }
    asked_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  // As many as there may be. 0, or errno when there is not even one.
  int Start(std::uint32_t threads) {
    // The program's handlers must not run here, nor SIGXFSZ end the program: pwrite says EFBIG as well.
    sigset_t all, before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = 0;
    try {
      while (threads_.size() < threads) threads_.emplace_back([this] { Serve(); });
    } catch (const std::system_error& e) {
      error = e.code().value();
    }
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return threads_.empty() ? error : 0;
  }

  IoKind kind() const override { return IoKind::kPwrite; }
  bool has_direct() const override { return true; }
  void Register(std::span<const std::byte>) override {}
  bool IsRegistered(std::span<const std::byte>) const override { return false; }
  int Attach(int) override { return 0; }
  void Detach(int) override {}

  void Submit(const IoRequest& request) override {
    {
      const std::lock_guard lock(mutex_);
      requests_.push_back(request);
    }
    asked_.notify_one();
  }

  IoCompletion Wait() override {
    std::unique_lock lock(mutex_);
    answered_.wait(lock, [this] { return !completions_.empty(); });
    const IoCompletion completion = completions_.front();
    completions_.pop_front();
    return completion;
  }

 private:
  void Serve() {
    std::unique_lock lock(mutex_);
    while (true) {
      asked_.wait(lock, [this] { return closing_ || !requests_.empty(); });
      if (requests_.empty()) return;
      const IoRequest request = requests_.front();
      requests_.pop_front();
      lock.unlock();
      const std::int64_t result = Transfer(request);
      lock.lock();
      completions_.push_back({request.tag, result});
      answered_.notify_one();
    }
  }

  std::int64_t Transfer(const IoRequest& request) const {
    const auto offset = static_cast<off_t>(request.offset);
    const ssize_t moved = direction_ == IoDirection::kWrite
                              ? ::pwrite(request.fd, request.memory, request.bytes, offset)
                              : ::pread(request.fd, request.memory, request.bytes, offset);
    return moved < 0 ? -errno : moved;
  }

  const IoDirection direction_;
  std::mutex mutex_;
  std::condition_variable asked_, answered_;
  std::deque<IoRequest> requests_;  // guarded by mutex_, as all below
  std::deque<IoCompletion> completions_;
  bool closing_ = false;
  std::vector<std::thread> threads_;  // the constructor's and the destructor's alone
};

}  // namespace

Result<std::unique_ptr<Channel>> MakeThreadChannel(const IoOptions& options, IoDirection direction) {
  auto channel = std::make_unique<ThreadChannel>(direction);
  if (const int error = channel->Start(std::min(options.depth, kThreadsMax)); error != 0) {
    return IoError(error, "start a thread that reads and writes");
  }
  return std::unique_ptr<Channel>(std::move(channel));
}

}  // namespace glim::checkpoint
