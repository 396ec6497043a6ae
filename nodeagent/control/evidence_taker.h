// Answers the scheduler's question what a task's processes do, by a glim-paths of its own for each question: what hangs
// there holds up nobody, and the processes go on (task/evidence.h).
//
// On the agent's loop; not thread-safe. An answer is told in each report for as long as the question stands.
#pragma once

#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "glim/v1/agent_api.pb.h"
#include "nodeagent/core/reconcile.h"
#include "nodeagent/os/child_work.h"
#include "nodeagent/task/evidence.h"

namespace glim::nodeagent {

class EvidenceTaker {
 public:
  // `program`: glim-paths. `on_answer` comes once for each question, later and on the loop, unless Stop comes first.
  EvidenceTaker(boost::asio::io_context& io, std::string program, std::function<void()> on_answer);

  // Whether the task was not asked this question yet. 0: there is none, and an earlier answer is wanted no more.
  bool IsNew(const TaskKey& key, std::uint32_t question);
  // `file`: where the whole answer is written down, which a report may have no room for.
  void Take(const TaskKey& key, std::uint32_t question, const EvidenceOrder& order, std::string file);
  void Report(const TaskKey& key, v1::ObservedTask* out) const;
  void Forget(const TaskKey& key);
  void Stop();

 private:
  struct Answer {
    std::uint32_t question = 0;
    ChildWork::Id child = 0;
    bool given = false;
    std::string text;
  };

  void OnLooked(const TaskKey& key, std::uint32_t question, const std::string& file, const ChildWork::Outcome& outcome);

  const std::string program_;
  const std::function<void()> on_answer_;
  ChildWork children_;
  std::map<TaskKey, Answer> answers_;
};

}  // namespace glim::nodeagent
