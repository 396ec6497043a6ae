// What the agent knows of the node's glim-replica, which is a service of its own (docs/protocols/replica.md): where it
// is and by which key it is known, from the file that the service writes; and the file that tells that one whose tokens
// count, from the scheduler's Welcome. Owned by the agent and called on its loop; nothing here waits.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <optional>
#include <string>

#include "glim/v1/agent_api.pb.h"
#include "sdk/checkpoint/replica/node_files.h"

namespace glim::nodeagent {

class ReplicaWatch {
 public:
  // `state_file` and `keys_file` are empty where the node has no service. `on_news`: what Introduce says has changed.
  // Never from within a call.
  ReplicaWatch(boost::asio::io_context& io, std::string state_file, std::string keys_file, std::string cluster,
               std::function<void()> on_news);

  // Looks now, and from then on each second.
  void Start();
  void Stop();
  void Introduce(v1::Hello* hello) const;
  // Writes the keys, whatever the file says. A failure is logged, and tried again at the next look.
  void OnWelcome(const v1::Welcome& welcome);

 private:
  void Look();
  void LookLater();
  void WriteKeys();

  const std::string state_file_;
  const std::string keys_file_;
  checkpoint::ReplicaIssuers issuers_;
  const std::function<void()> on_news_;
  boost::asio::steady_timer timer_;
  std::optional<checkpoint::ReplicaState> seen_;
  bool keys_wait_ = false;  // to be written
  bool stopped_ = false;
};

}  // namespace glim::nodeagent
