// Looks at the cluster's checkpoint root (saves/root_check.h) whenever a scheduler names it, and every minute from then
// on. On the agent's loop, which storage that hangs does not hold up.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "glim/v1/agent_api.pb.h"
#include "nodeagent/os/child_work.h"
#include "nodeagent/saves/root_check.h"

namespace glim::nodeagent {

struct RootTimes {
  std::chrono::milliseconds again{60'000};
  std::chrono::milliseconds limit{10'000};  // storage that has not answered by then counts as out of reach
};

class RootWatch {
 public:
  // `program`: glim-paths, which looks. `allowed`: folders one of which must hold the root, since tasks get nothing
  // else; empty: anything will do. `changed`: the answer is another one.
  RootWatch(boost::asio::io_context& io, std::string program, RootTimes times, std::vector<std::string> allowed,
            std::function<void()> changed);

  void OnWelcome(const v1::Welcome& welcome);
  void Stop();
  // Of the root that was named last; nothing before the first answer.
  void Report(v1::NodeReport* report) const;

 private:
  bool IsAllowed() const;
  void Look();
  void OnAnswer(std::optional<RootAnswer> answer);

  const std::string program_;
  const RootTimes times_;
  const std::vector<std::string> allowed_;
  const std::function<void()> changed_;
  boost::asio::steady_timer timer_;
  std::string root_;
  std::string marker_;
  std::string asked_;     // the root and the marker that `look_` is about
  bool waiting_ = false;  // for its answer
  std::optional<RootAnswer> answer_;
  ChildWork children_;
  ChildWork::Id look_ = 0;  // the newest; 0: none yet
};

}  // namespace glim::nodeagent
