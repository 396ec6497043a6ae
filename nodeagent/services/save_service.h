// Gives this node's saves to other nodes' agents (saves/save_server.h), and tells the scheduler where. On the agent's
// loop; the giving is done by threads.
#pragma once

#include <memory>
#include <string>

#include "glim/v1/agent_api.pb.h"
#include "nodeagent/options/agent_options.h"
#include "nodeagent/saves/save_server.h"

namespace glim::nodeagent {

class SaveService {
 public:
  // `options` outlive it.
  explicit SaveService(const AgentOptions& options);

  // Fails only where the operator named the address; an agent that cannot listen elsewhere says so in the log.
  Status Start();
  // Ends what is under way.
  void Stop();
  // Hello.save_address and save_key.
  void Introduce(v1::Hello* hello) const;

 private:
  const AgentOptions& options_;
  const std::string key_;  // drawn anew in each life of the agent
  std::unique_ptr<SaveServer> server_;
};

}  // namespace glim::nodeagent
