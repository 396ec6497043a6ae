// Looks every few minutes whether root's programs of this node listen on abstract sockets (os/root_sockets.h): tasks
// reach them. Told to the scheduler, and in the log when they change. On the agent's loop, a child looks.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "glim/v1/agent_api.pb.h"
#include "nodeagent/os/child_work.h"

namespace glim::nodeagent {

class SocketWatch {
 public:
  // `program`: glim-paths. `changed`: they are others.
  SocketWatch(boost::asio::io_context& io, std::string program, std::chrono::milliseconds again,
              std::function<void()> changed);

  void Start();
  void Stop();
  void Report(v1::NodeReport* report) const;

 private:
  void Look();
  void OnFound(const ChildWork::Outcome& outcome);
  void LookLater();

  const std::string program_;
  const std::chrono::milliseconds again_;
  const std::function<void()> changed_;
  boost::asio::steady_timer timer_;
  ChildWork children_;
  std::vector<std::string> names_;
  bool stopped_ = false;
};

}  // namespace glim::nodeagent
