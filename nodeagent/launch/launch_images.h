// Sees to it that the image which a launch names is a file of this node's before the task starts. Each wait is a
// glim-image of its own: it finds the image, waits for another import of the same one, or imports it.
//
// On the agent's loop; not thread-safe. What was under way when the agent ended is forgotten, and the half import is
// removed by the next one: the task was never started.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "glim/v1/agent_api.pb.h"
#include "nodeagent/core/reconcile.h"
#include "nodeagent/images/image_order.h"
#include "nodeagent/options/agent_options.h"
#include "nodeagent/os/child_work.h"

namespace glim::nodeagent {

struct ImageOutcome {
  ImageAnswer answer;
  bool stopped = false;  // Cancel came first
};

class LaunchImages {
 public:
  using Done = std::function<void(const TaskKey&, const ImageOutcome&)>;

  // `options` outlive it. `progress`: image_bytes of some task has grown. `done`: once for each Begin, later and on the
  // loop, unless Stop comes first.
  LaunchImages(boost::asio::io_context& io, const AgentOptions& options, std::function<void()> progress, Done done);

  // Removes what imports left that were killed.
  void Start();
  void Stop();
  // `real`: where a path of the node's that the image is was found to lead; empty: it is a registry's.
  void Begin(const TaskKey& key, const TaskUser& user, const std::string& image, const std::string& real);
  void Cancel(const TaskKey& key);
  // image_bytes.
  void Report(const TaskKey& key, v1::ObservedTask* task) const;
  void Forget(const TaskKey& key) { waits_.erase(key); }

 private:
  struct Wait {
    ChildWork::Id child = 0;
    std::uint64_t bytes = 0;
    bool over = false;
  };

  void End(const TaskKey& key, const ImageOutcome& outcome);
  void EndLater(const TaskKey& key, ImageOutcome outcome);
  void Watch();

  boost::asio::io_context& io_;
  const AgentOptions& options_;
  const std::function<void()> progress_;
  const Done done_;
  boost::asio::steady_timer timer_;
  ChildWork children_;
  std::map<TaskKey, Wait> waits_;
  bool stopped_ = false;
};

}  // namespace glim::nodeagent
