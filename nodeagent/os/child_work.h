// Small programs that do for the agent what may block for ever: storage that hangs holds up a process of its own, and
// never the agent, its end or its successor. (A thread that hangs in the kernel would keep the agent's files open.)
//
// On the agent's loop; not thread-safe. What does not end in time is killed and given up. A process that hangs in the
// kernel dies when the storage answers; it is known until then, so that nobody starts more and more of them.
#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sdk/base/result.h"

namespace glim::nodeagent {

class ChildWork {
 public:
  using Id = std::uint64_t;
  struct Outcome {
    std::string output;   // what it wrote to descriptor 4, at most 1 MiB
    bool in_time = true;  // it has ended by itself
    std::string end;      // then: how, in words
  };
  using Done = std::function<void(const Outcome&)>;

  explicit ChildWork(boost::asio::io_context& io);
  ~ChildWork();
  ChildWork(const ChildWork&) = delete;
  ChildWork& operator=(const ChildWork&) = delete;

  // Starts a program with `input` to read at descriptor 3 and no environment. `done` comes once, later and on the loop,
  // unless Cancel or Stop comes first. Not OK: it was not started.
  Result<Id> Start(const std::vector<std::string>& arguments, const std::string& input, std::chrono::milliseconds limit,
                   Done done);
  // Its answer is wanted no more: it is killed.
  void Cancel(Id id);
  // Whether its process is still there, wanted or not.
  bool IsThere(Id id) const;
  // The agent goes.
  void Stop();

 private:
  struct Child;

  void WaitForEnd(Child& child);
  void Read(Child& child);
  void Tell(Child& child, bool in_time);
  void GiveUp(Child& child);
  void OnEnd(Id id);

  boost::asio::io_context& io_;
  std::map<Id, std::unique_ptr<Child>> children_;
  Id next_ = 1;
};

}  // namespace glim::nodeagent
