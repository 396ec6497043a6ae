// Notices that the wall clock was set back. gRPC waits until times of day (for its pauses and deadlines, whatever clock
// they were meant by), so what waited then would wait for as much longer: an agent that lost its scheduler would not
// come back for hours. Runs on the agent's loop, whose timers go by the monotonic clock.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <optional>

#include "sdk/base/time.h"

namespace glim::nodeagent {

class ClockWatch {
 public:
  // `set_back` is told by how much, each time that it is more than a moment.
  ClockWatch(boost::asio::io_context& io, std::function<void(Duration)> set_back);

  void Start();
  void Stop();

  // By how much a clock was set back that was `before` ahead of a steady one, and is `now`; empty: by no more than what
  // a wait may be longer, or not at all.
  static std::optional<Duration> SetBack(Duration before, Duration now);

 private:
  void Look();

  boost::asio::steady_timer timer_;
  const std::function<void(Duration)> set_back_;
  Duration ahead_;  // of the monotonic clock
};

}  // namespace glim::nodeagent
