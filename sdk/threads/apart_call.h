// One call that may block for ever (storage that hangs), on a thread that nobody waits for; its answer comes to the
// loop.
//
// The owner holds the ApartCall on the loop. When it lets go, `done` is not called any more, and the thread ends by
// itself, whenever that is. So `work` must own all that it uses.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace glim {

template <typename T>
class ApartCall {
 public:
  // None: it has not come back within the limit. Called once, on the loop; it may destroy the call.
  using Done = std::function<void(std::optional<T>)>;

  ApartCall(boost::asio::io_context& io, std::function<T()> work, std::chrono::milliseconds limit, Done done)
      : shared_(std::make_shared<Shared>(io, std::move(done))) {
    shared_->timer.expires_after(limit);
    shared_->timer.async_wait([shared = shared_](boost::system::error_code error) {
      if (!error) shared->Tell(std::nullopt);
    });
    std::thread([shared = shared_, work = std::move(work)] {
      T answer = work();
      std::lock_guard lock(shared->mutex);
      if (shared->io == nullptr) return;
      boost::asio::post(*shared->io, [shared, answer = std::move(answer)]() mutable {
        shared->timer.cancel();
        shared->Tell(std::move(answer));
      });
    }).detach();
  }
  ~ApartCall() {
    shared_->done = nullptr;
    shared_->timer.cancel();
    std::lock_guard lock(shared_->mutex);
    shared_->io = nullptr;
  }
  ApartCall(const ApartCall&) = delete;
  ApartCall& operator=(const ApartCall&) = delete;

 private:
  struct Shared {
    Shared(boost::asio::io_context& loop, Done tell) : io(&loop), done(std::move(tell)), timer(loop) {}
    void Tell(std::optional<T> answer) {
      if (const Done told = std::exchange(done, nullptr)) told(std::move(answer));
    }
    std::mutex mutex;
    boost::asio::io_context* io;  // null: nobody waits
    Done done;                    // of the loop alone
    boost::asio::steady_timer timer;
  };

  const std::shared_ptr<Shared> shared_;
};

}  // namespace glim
