// Gives this node's saves to other nodes' agents (saves/save_server.h), and tells the scheduler where. On the agent's
// loop; the giving is done by threads.
//
// A port that the operator named may be another process's when the agent starts: tasks share the node's network, and
// one that listens there would otherwise keep the agent, and so the node, from coming back. The agent goes on without,
// says so as the node's fault, and looks again until the port is free.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <string>

#include "glim/v1/agent_api.pb.h"
#include "nodeagent/options/agent_options.h"
#include "nodeagent/saves/save_server.h"

namespace glim::nodeagent {

class SaveService {
 public:
  // `options` outlive it. `on_news`: what Introduce and Report say has changed. Never from within a call.
  SaveService(boost::asio::io_context& io, const AgentOptions& options, std::function<void()> on_news);

  // Where it cannot listen at an address that nobody named, the log says so, and that is all.
  void Start();
  // Ends what is under way.
  void Stop();
  // Hello.save_address and save_key.
  void Introduce(v1::Hello* hello) const;
  // A fault, as long as the port that the operator named is not to be had.
  void Report(v1::NodeReport* report) const;

 private:
  Status Listen();
  void TryLater();

  const AgentOptions& options_;
  const std::function<void()> on_news_;
  const std::string key_;  // drawn anew in each life of the agent
  boost::asio::steady_timer timer_;
  std::unique_ptr<SaveServer> server_;
  std::string fault_;
};

}  // namespace glim::nodeagent
