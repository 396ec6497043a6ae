// AgentStrand: the one thread that owns everything about agents' streams: who is connected, what is being written,
// which log request waits. gRPC's threads and the scheduler's strand post to it; nothing here needs a lock.
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <thread>
#include <utility>

namespace glim::server {

class AgentStrand {
 public:
  AgentStrand() : thread_([this] { io_.run(); }) {}
  ~AgentStrand() { Stop(); }

  template <typename Handler>
  void Post(Handler&& handler) {
    boost::asio::post(io_, std::forward<Handler>(handler));
  }
  boost::asio::io_context& io() { return io_; }

  // Runs what was posted before, then joins. No stream may be left: the gRPC server is shut down first.
  void Stop() {
    if (!thread_.joinable()) return;
    Post([this] {
      work_.reset();
      io_.stop();
    });
    thread_.join();
  }

 private:
  boost::asio::io_context io_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{io_.get_executor()};
  std::thread thread_;
};

}  // namespace glim::server
