// Tries to reach other nodes' machines, as the scheduler asks while it does not hear one of them
// (docs/protocols/probes.md): a TCP connection to each, which is closed at once. Any answer counts, also that nobody
// listens. On the agent's loop; nothing here waits.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "glim/v1/agent_api.pb.h"

namespace glim::nodeagent {

class ReachWatch {
 public:
  // `changed`: a node answers that did not or was not tried, or it has not answered for as long as was asked. Never
  // from within a call.
  ReachWatch(boost::asio::io_context& io, std::function<void()> changed);
  ~ReachWatch();

  // Tries the nodes of the set from now on, and no others. At most 128 of them.
  void Accept(const v1::DesiredState& set);
  void Report(v1::NodeReport* report) const;
  void Stop();

 private:
  class Target;

  boost::asio::io_context& io_;
  const std::function<void()> changed_;
  std::map<std::string, std::shared_ptr<Target>> targets_;  // by the node's name
};

}  // namespace glim::nodeagent
